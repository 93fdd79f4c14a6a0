"""What a survey keeps: its tables, in SQLite in the study's folder or in PostgreSQL, and the thread that writes them.

A question is a row of its own, bound to the person to whom it is given, and names its objects by their labels, so that
answers can be read whatever has become of the study's folder. An answer has the number of its question as its key: a
question is answered once, however often an answer arrives.

One thread writes for all, many jobs in one transaction, as a commit waits for the disk. Results are handed out after
the commit. Each job has a savepoint, and one that fails takes nothing of the others with it.
"""

from __future__ import annotations

import asyncio
import os
import queue
import sqlite3
import threading
import time
from collections.abc import Awaitable, Callable, Collection
from concurrent.futures import Future
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import sqlalchemy as sa
from sqlalchemy import URL, Connection
from sqlalchemy.engine import Engine, ExceptionContext, make_url
from sqlalchemy.exc import ArgumentError, InterfaceError, OperationalError, SQLAlchemyError
from sqlalchemy.pool import StaticPool

Result = TypeVar("Result")
Work = Callable[[Connection], Result]

UNSEEN = "unseen"  # purpose of a question that was withdrawn, as its files could not be loaded: it has no answer
metadata = sa.MetaData()

#: Names of single facts: the status of the study (open, paused or closed), the hash of the researcher's secret, what
#: the engine does now, and its results for the researcher's page.
STATUS, SECRET, ENGINE_STATE, ANALYSIS = "status", "secret", "engine", "analysis"
facts = sa.Table(
    "facts", metadata, sa.Column("name", sa.String(40), primary_key=True), sa.Column("value", sa.Text, nullable=False)
)

people = sa.Table(
    "people",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.String(20), nullable=False, unique=True),
    sa.Column("session", sa.String(64), nullable=False, unique=True),  # hash of the session's token
    sa.Column("external", sa.Text, nullable=False, default=""),  # JSON: what a recruiting platform says
    sa.Column("code", sa.String(20), nullable=False),
    sa.Column("began", sa.Float, nullable=False),
    sa.Column("consented", sa.Float),
    sa.Column("completed", sa.Float),
    sa.Column("left_out", sa.Boolean, nullable=False, default=False),
    # Given when they agree: the condition, and which of several lists of questions; "" if there are none.
    sa.Column("condition", sa.String(40), nullable=False, server_default=""),
    sa.Column("question_list", sa.String(200), nullable=False, server_default=""),
    sqlite_autoincrement=True,  # numbers of those who are forgotten are not given again
)

questions = sa.Table(
    "questions",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("person", sa.ForeignKey("people.id", ondelete="CASCADE"), nullable=False),
    sa.Column("place", sa.Integer, nullable=False),  # in the order of this person's questions
    sa.Column("shown", sa.Text, nullable=False),  # labels of the objects with tabs between them, the anchor first
    sa.Column("purpose", sa.String(20), nullable=False),
    sa.Column("asked", sa.Float, nullable=False),
    sa.Column("correct", sa.Text, nullable=False, server_default=""),  # of a catch question of a list, as in answers
    sa.UniqueConstraint("person", "place"),
    sqlite_autoincrement=True,
)

answers = sa.Table(
    "answers",
    metadata,
    sa.Column("question", sa.ForeignKey("questions.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    sa.Column("person", sa.ForeignKey("people.id", ondelete="CASCADE"), nullable=False),
    sa.Column("sent_as", sa.String(40), nullable=False),  # the id that the browser gave it
    sa.Column("chosen", sa.Text, nullable=False),  # places of options, with commas; "" for "can't tell"
    sa.Column("seconds", sa.Float),
    sa.Column("received", sa.Float, nullable=False),
    sa.Index("answers_person", "person"),
)

#: Questions that the engine has chosen and nobody was given yet, the most informative first.
proposals = sa.Table(
    "proposals",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("shown", sa.Text, nullable=False),  # as in questions
)

_PRAGMAS = (
    "journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "secure_delete=ON",
    "journal_size_limit=16000000",  # bytes that the log keeps of a disk once it is no longer needed
)  # fmt: skip
_SCRUB_TRIES = 100  # to empty the log, a tenth of a second apart
# PostgreSQL's locks of applications have numbers: for steps that one server takes at a time, for places in a study.
STEP_LOCK_ID, PLACES_LOCK_ID = 6_316_377, 6_316_378
LOCK_SECONDS = 5  # that a lock of another server is waited for
IDLE_SECONDS = 10  # after which PostgreSQL ends the transaction of a server that has stopped in it, and frees its locks
_EXTRA_CONNECTIONS = 50  # connections beside the first five: readers must never keep the writer waiting for one
_SQLITE_SECONDS = 15.0  # that a locked SQLite file is waited for
_PEOPLE: sa.BindParameter[str] = sa.bindparam("people", expanding=True)
_LOCK_PEOPLE = (
    sa.select(people.c.id)
    .where(sa.or_(people.c.session.in_(_PEOPLE), people.c.name.in_(_PEOPLE)))
    .order_by(people.c.id)
    .with_for_update()
)
# PostgreSQL that vanishes, such as with its machine, is noticed after seconds and not after the system's two hours.
_CONNECT_ARGS = {
    "connect_timeout": 5, "keepalives": 1, "keepalives_idle": 5, "keepalives_interval": 2, "keepalives_count": 3,
    "tcp_user_timeout": 10_000,  # milliseconds; Linux alone knows it
}  # fmt: skip
_STATEMENT_SECONDS = 60  # after which PostgreSQL gives up a statement
_DAMAGE_MESSAGES = ("malformed", "not a database", "database corruption")  # SQLite's words


def _add_assignment(connection: Connection) -> None:
    """Add conditions, lists of questions and their right answers to tables that were made without them."""
    for column in (people.c.condition, people.c.question_list, questions.c.correct):
        table = column.table.name
        if column.name not in {each["name"] for each in sa.inspect(connection).get_columns(table)}:
            kind = column.type.compile(connection.dialect)
            connection.exec_driver_sql(f"ALTER TABLE {table} ADD COLUMN {column.name} {kind} DEFAULT '' NOT NULL")


#: What each version of the tables adds to the one before: the first makes them, as they are in the latest.
MIGRATIONS: tuple[Callable[[Connection], None], ...] = (metadata.create_all, _add_assignment)
MAX_BATCH = 200  # jobs in a transaction
MAX_QUEUE = 5000  # jobs that wait; more would only wait in vain
CLOSE_SECONDS = 20.0  # that the writer has to finish; longer than a locked SQLite file is waited for


class DatabaseDamaged(OSError):
    """A file of SQLite of which parts cannot be read, or that is not where it was."""


class Database:
    """A database, made and brought up to date when opened; with ``reading``, nothing is written (see `to_read`)."""

    def __init__(self, url: str | URL, *, reading: bool = False) -> None:
        try:
            parsed = make_url(url)
        except ArgumentError:
            raise ValueError(f"database {url!r} is not a URL such as postgresql+psycopg://user@host/name") from None
        self.name = parsed.render_as_string(hide_password=True)
        if parsed.get_backend_name() not in ("sqlite", "postgresql"):
            raise ValueError(f"database {self.name}: it must be SQLite or PostgreSQL")
        self.is_sqlite = parsed.get_backend_name() == "sqlite"
        if reading and self.is_sqlite and not Path(parsed.database or "").is_file():
            parsed = make_url("sqlite://")  # a file that is not there would be made
        settings: dict[str, Any] = {"pool_pre_ping": not self.is_sqlite}
        if not self.is_sqlite:
            # Whatever the server's default: what is read after a lock must be what others committed before it.
            settings["isolation_level"] = "READ COMMITTED"
            settings["execution_options"] = {"postgresql_readonly": True} if reading else {}
            if parsed.get_driver_name().startswith("psycopg"):
                settings["connect_args"] = {
                    name: value for name, value in _CONNECT_ARGS.items() if name not in parsed.query
                }
        else:
            settings["connect_args"] = {"timeout": _SQLITE_SECONDS, "check_same_thread": False}
            if not parsed.database:  # in memory: there is one connection, or each thread would have its own
                settings["poolclass"] = StaticPool
            else:
                settings["max_overflow"] = _EXTRA_CONNECTIONS
        try:
            self.engine = sa.create_engine(parsed, **settings)
        except ModuleNotFoundError as error:
            raise ValueError(f"database {self.name} needs {error.name}: pip install '{error.name}[binary]'") from error
        if self.is_sqlite:
            if parsed.database and not reading:
                _make_private(Path(parsed.database))
            _own_transactions(self.engine, reading)
            sa.event.listen(self.engine, "handle_error", self._say_damaged)
        else:
            _bounded_statements(self.engine)
        self._file = Path(parsed.database).absolute() if self.is_sqlite and parsed.database else None
        try:
            with self.engine.begin() as connection:
                self.version = version_of(connection) if reading else migrate(connection)
        except SQLAlchemyError as error:
            advice = f"; see who may read and write in {self._file.parent}" if self._file else ""
            raise ValueError(f"database {self.name} cannot be opened: {driver_message(error)}{advice}") from error
        self._file_id = None if self._file is None else _file_id(self._file)

    @classmethod
    def to_read(cls, url: str | URL) -> Database:
        """Return a database that nothing is written to; where there is none yet, an empty one in memory."""
        database = cls(url, reading=True)
        if database.version == len(MIGRATIONS):
            return database
        database.close()
        if database.version > 0:
            raise ValueError(
                f"database {database.name} was made by an earlier version of nearer; `nearer survey run` brings it up "
                "to date"
            )
        return cls("sqlite://")

    def reading(self) -> Connection:
        """Return a connection, to be used in a with statement, whose transaction never keeps a writer waiting."""
        return self.engine.connect().execution_options(reading=True)

    def scrub(self) -> None:
        """Remove what was deleted from the files too: SQLite overwrites it, and its log is emptied."""
        if self.is_sqlite:
            with closing(self.engine.raw_connection()) as connection:  # a log cannot be emptied within a transaction
                for _ in range(_SCRUB_TRIES):
                    (busy, *_) = connection.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
                    if not busy:
                        return
                    time.sleep(0.1)  # somebody reads
            raise ValueError("what was deleted is still in the database's log, which others use; try again")

    def check(self) -> None:
        """Look at all pages of a file of SQLite; raise DatabaseDamaged if one cannot be read."""
        if self.is_sqlite:
            with self.reading() as connection:
                found = connection.exec_driver_sql("PRAGMA quick_check(1)").scalar_one()
            if found != "ok":
                raise DatabaseDamaged(self._damage(found))

    def check_in_place(self) -> None:
        """Raise DatabaseDamaged if the file is no longer at its path: SQLite goes on with one that was deleted."""
        if self._file is not None and _file_id(self._file) != self._file_id:
            raise DatabaseDamaged(
                f"{self._file} was deleted, renamed or replaced, or its folder cannot be read, and no answer is kept: "
                "put the file back, or stop the server, put a backup in its place and start again"
            )

    def _say_damaged(self, context: ExceptionContext) -> None:
        error = context.original_exception
        if isinstance(error, sqlite3.DatabaseError) and any(each in str(error) for each in _DAMAGE_MESSAGES):
            raise DatabaseDamaged(self._damage(str(error))) from None

    def _damage(self, found: str) -> str:
        return (
            f"{self.engine.url.database} is damaged ({' '.join(found.split())}): stop the server, keep a copy of the "
            "file and of those beside it, and put a backup in its place; without one, sqlite3's command .recover saves "
            "what can be read"
        )

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


def migrate(connection: Connection) -> int:
    """Bring the tables up to date, and return their version."""
    lock_step(connection)
    before = version_of(connection)
    for step in MIGRATIONS[before:]:
        step(connection)
    if before < len(MIGRATIONS):
        write_fact(connection, "version", str(len(MIGRATIONS)))
    return len(MIGRATIONS)


def version_of(connection: Connection) -> int:
    """Return the version of the tables, 0 if there are none; refuse those of a later program."""
    if not sa.inspect(connection).has_table(facts.name):
        return 0
    version = int(read_fact(connection, "version") or 0)
    if version > len(MIGRATIONS):
        raise ValueError(f"the study was made by a later version of nearer (tables {version}); update nearer")
    return version


def read_fact(connection: Connection, name: str) -> str | None:
    """Return a single fact, None if nobody has written it."""
    return connection.execute(sa.select(facts.c.value).where(facts.c.name == name)).scalar()


def write_fact(connection: Connection, name: str, value: str) -> None:
    """Write a single fact, in place of any before."""
    statement = insert_into(connection.dialect.name, facts).values(name=name, value=value)
    connection.execute(statement.on_conflict_do_update(index_elements=[facts.c.name], set_={"value": value}))


def claim_fact(connection: Connection, name: str, value: str) -> str:
    """Write a single fact unless it is there already, and return what is there: of several servers one is the first."""
    statement = insert_into(connection.dialect.name, facts).values(name=name, value=value)
    connection.execute(statement.on_conflict_do_nothing())
    kept: str = connection.execute(sa.select(facts.c.value).where(facts.c.name == name)).scalar_one()
    return kept


def insert_into(dialect: str, table: sa.Table) -> Any:
    """Return an insertion in a dialect, which can handle rows that exist already."""
    if dialect == "sqlite":
        from sqlalchemy.dialects.sqlite import insert as of_sqlite

        return of_sqlite(table)
    from sqlalchemy.dialects.postgresql import insert as of_postgresql

    return of_postgresql(table)


def lock_step(connection: Connection) -> None:
    """Let no other server do its part of the same until this transaction ends; SQLite has one writer anyway."""
    _lock_number(connection, STEP_LOCK_ID)


def lock_participants(connection: Connection, participants: Collection[str], *, places: bool) -> None:
    """Let no other server serve some people until this transaction ends, nor, with ``places``, admit new ones.

    People are named, or given by the hashes of their sessions' tokens. SQLite has one writer at a time, which holds its
    lock from the beginning of the transaction. In PostgreSQL all locks are taken before anything else is done, and
    always in the same order: servers never wait for each other in a circle. A server that stops while it holds some, as
    a machine does that is put to sleep, stops nobody for long.
    """
    if connection.dialect.name != "postgresql" or not (places or participants):
        return
    connection.exec_driver_sql(
        f"SET LOCAL lock_timeout = '{LOCK_SECONDS}s'; SET LOCAL idle_in_transaction_session_timeout = '{IDLE_SECONDS}s'"
    )
    if places:
        _lock_number(connection, PLACES_LOCK_ID)
    if participants:
        connection.execute(_LOCK_PEOPLE, {"people": list(participants)})


def _lock_number(connection: Connection, number: int) -> None:
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({number})")


def driver_message(error: SQLAlchemyError) -> str:
    """Return the first line of a driver's message: further lines may have the statement and its values."""
    inner = getattr(error, "orig", None)
    return next(iter(str(inner if inner is not None else error).strip().splitlines()), "")


def _file_id(file: Path) -> tuple[int, int] | None:
    """Return the identity of a file, whatever its path; None if there is none."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _make_private(file: Path) -> None:
    """Let nobody but its owner read a file of SQLite, made if it is not there; its log gets the same rights."""
    with suppress(OSError):  # of another owner, or where there are no such rights; SQLite says what cannot be opened
        with suppress(FileExistsError):  # closing a file that is open here already would free SQLite's locks on it
            os.close(os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        for each in (file, *(file.with_name(file.name + ending) for ending in ("-wal", "-shm"))):
            if each.exists():
                each.chmod(each.stat().st_mode & 0o700)


def _bounded_statements(engine: Engine) -> None:
    @sa.event.listens_for(engine, "connect")
    def connected(connection: Any, _: Any) -> None:
        before, connection.autocommit = connection.autocommit, True  # or it would end with the first rollback
        with closing(connection.cursor()) as cursor:
            cursor.execute(f"SET statement_timeout = '{_STATEMENT_SECONDS}s'")
        connection.autocommit = before


def _own_transactions(engine: Engine, reading: bool) -> None:
    """Let transactions begin where SQLAlchemy says, as writing ones: processes wait instead of failing halfway."""

    @sa.event.listens_for(engine, "connect")
    def connected(connection: Any, _: Any) -> None:
        connection.isolation_level = None
        for setting in ("query_only=ON",) if reading else _PRAGMAS:
            connection.execute(f"PRAGMA {setting}")

    @sa.event.listens_for(engine, "begin")
    def begun(connection: Connection) -> None:
        how = "DEFERRED" if reading or connection.get_execution_options().get("reading") else "IMMEDIATE"
        connection.exec_driver_sql(f"BEGIN {how}")


class Busy(Exception):
    """The database cannot take anything now; whoever asked may try again."""


async def with_timeout(work: Awaitable[Result], seconds: float) -> Result:
    """Wait for a database, but not for ever: one that is frozen keeps its connections open and says nothing."""
    try:
        return await asyncio.wait_for(work, seconds)
    except TimeoutError:
        raise Busy(f"the database has not answered for {seconds:.0f} s") from None


class _Job(NamedTuple):
    """Work to do, the future of its result, and what it locks."""

    work: Work[Any]
    future: Future[Any]
    person: str
    places: bool


class Writer:
    """Runs work in transactions, in a thread of its own."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._queue: queue.Queue[_Job | None] = queue.Queue(MAX_QUEUE)
        self._thread = threading.Thread(target=self._write, name="nearer-writer", daemon=True)
        self._thread.start()

    def submit(self, work: Work[Result], person: str = "", *, places: bool = False) -> Future[Result]:
        """Run work in a transaction; its result is there after the commit.

        ``person``: the one it is about, by name or by the hash of the session's token, whom no other server serves
        until the commit. What changes anything about a person must name them. ``places``: whether it counts the people
        who take part, which no other server does then until the commit.
        """
        future: Future[Result] = Future()
        try:
            self._queue.put_nowait(_Job(work, future, person, places))
        except queue.Full:
            raise Busy("too many answers wait for the database") from None
        return future

    def run(self, work: Work[Result]) -> Result:
        """Run work in a transaction, and wait for its result."""
        return self.submit(work).result()

    def close(self) -> None:
        """Do what waits, and end; a database that does not answer is not waited for."""
        self._queue.put(None)
        self._thread.join(CLOSE_SECONDS)
        self.database.close()

    def _write(self) -> None:
        while (job := self._queue.get()) is not None:
            batch = [job]
            with suppress(queue.Empty):
                while len(batch) < MAX_BATCH and job is not None:
                    job = self._queue.get_nowait()
                    batch += [job] if job else []
            self._commit(batch)
            if job is None:
                return

    def _commit(self, batch: list[_Job]) -> None:
        """Run several jobs in one transaction, and hand out their results."""
        batch = [each for each in batch if each.future.set_running_or_notify_cancel()]  # others have given up
        done: list[tuple[Future[Any], Any]] = []
        try:
            with self.database.engine.begin() as connection:
                participants = {each.person for each in batch if each.person}
                lock_participants(connection, participants, places=any(each.places for each in batch))
                for work, future, *_ in batch:
                    # As text: SQLAlchemy's own savepoints take as long as the work.
                    connection.exec_driver_sql("SAVEPOINT job")
                    try:
                        done.append((future, work(connection)))
                    except (InterfaceError, OperationalError):  # of the database, and so of all
                        raise
                    except Exception as error:  # of this job alone: raised to whoever asked, once the others are safe
                        connection.exec_driver_sql("ROLLBACK TO SAVEPOINT job")
                        done.append((future, error))
                    connection.exec_driver_sql("RELEASE SAVEPOINT job")
            self.database.check_in_place()
        except Exception as error:
            for each in batch:
                each.future.set_exception(Busy(f"the database took nothing: {_first_reason(error)}"))
            return
        for future, result in done:
            if isinstance(result, Exception):
                future.set_exception(result)
            else:
                future.set_result(result)


def _first_reason(error: BaseException) -> str:
    """Return what went wrong first: a transaction that has failed cannot be rolled back in part either."""
    first, at = error, error.__context__
    while at is not None:
        first, at = at if isinstance(at, SQLAlchemyError) else first, at.__context__
    return driver_message(first) if isinstance(first, SQLAlchemyError) else str(first)
