"""What tests of Perdure, and of programs that use it, are made with. Shipped."""
