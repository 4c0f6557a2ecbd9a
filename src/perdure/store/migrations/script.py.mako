"""${message}.

Revision ${up_revision}, after ${down_revision}.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy import Text
${imports if imports else ""}
revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}
branch_labels = ${repr(branch_labels)}
depends_on = ${repr(depends_on)}


def upgrade() -> None:
    """Additive: an older Perdure still works on the result."""
    ${upgrades if upgrades else "pass"}
