"""Build the first tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

STUDY = "surepath_studies.id"


def upgrade() -> None:
    op.create_table(
        "surepath_studies",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.Text, nullable=False, unique=True),
        sa.Column("created", sa.Double, nullable=False),
        sa.Column("version", sa.Text, nullable=False),
        sa.Column("problem_hash", sa.Text, nullable=False),
        sa.Column("options", sa.Text, nullable=False),
        sa.Column("settings", sa.Text, nullable=False),
        sa.Column("problem", sa.Text, nullable=False),
    )
    op.create_table(
        "surepath_heads",
        sa.Column("study", sa.Integer, sa.ForeignKey(STUDY), primary_key=True),
        sa.Column("changes", sa.BigInteger, nullable=False),
        sa.Column("trials", sa.BigInteger, nullable=False),
        sa.Column("actions", sa.BigInteger, nullable=False),
        sa.Column("waiting", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "surepath_trials",
        sa.Column("study", sa.Integer, sa.ForeignKey(STUDY), primary_key=True),
        sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("path", sa.Text, nullable=False),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("of", sa.BigInteger),
        sa.Column("rewards", sa.Text, nullable=False),
        sa.Column("worker", sa.Text, nullable=False),
        sa.Column("asked", sa.Double, nullable=False),
        sa.Column("lease", sa.Double, nullable=False),
        sa.Column("told", sa.Double),
        sa.Column("note", sa.Text, nullable=False),
        sa.Column("request", sa.Text),
        sa.Column("change", sa.BigInteger, nullable=False),
    )
    op.create_index("surepath_trials_change", "surepath_trials", ["study", "change", "number"])
    for name, column, condition in (
        ("surepath_trials_running", "lease", "state = 'running'"),
        ("surepath_trials_of", "of", '"of" IS NOT NULL'),
        ("surepath_trials_request", "request", "request IS NOT NULL"),
    ):
        where = sa.text(condition)
        op.create_index(name, "surepath_trials", ["study", column], sqlite_where=where, postgresql_where=where)
    op.create_table(
        "surepath_actions",
        sa.Column("study", sa.Integer, sa.ForeignKey(STUDY), primary_key=True),
        sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("after", sa.BigInteger, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("content", sa.Text, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("change", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "surepath_queue",
        sa.Column("study", sa.Integer, sa.ForeignKey(STUDY), primary_key=True),
        sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("path", sa.Text, nullable=False),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("of", sa.BigInteger),
        sa.Column("at", sa.Double, nullable=False),
    )
    op.create_table(
        "surepath_requests",
        sa.Column("study", sa.Integer, sa.ForeignKey(STUDY), primary_key=True),
        sa.Column("request", sa.Text, primary_key=True),
    )
    op.create_table(
        "surepath_snapshots",
        sa.Column("study", sa.Integer, sa.ForeignKey(STUDY), primary_key=True),
        sa.Column("format", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("prefix", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("actions", sa.BigInteger, nullable=False),
        sa.Column("content", sa.LargeBinary, nullable=False),
    )


def downgrade() -> None:
    for table in ("snapshots", "requests", "queue", "actions", "trials", "heads", "studies"):
        op.drop_table(f"surepath_{table}")
