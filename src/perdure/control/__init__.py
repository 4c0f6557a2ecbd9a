"""What people do with their memories, and what they can ask about them."""
