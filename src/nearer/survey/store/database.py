"""The database of a study: SQLite in its folder, or PostgreSQL by a URL; made and brought up to date when opened.

SQLite keeps a write-ahead log, so that whoever reads never waits for whoever writes. Its driver would begin
transactions at its own times; here they begin where SQLAlchemy says, and at once as writing ones, so that two processes
wait for each other instead of failing halfway.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Collection
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import URL, BindParameter, Connection, Table, bindparam, create_engine, event, inspect, or_, select
from sqlalchemy.engine import Engine, ExceptionContext, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.pool import StaticPool

from nearer.survey.store.tables import facts, metadata, people

_PRAGMAS = (
    "journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "secure_delete=ON",
    "journal_size_limit=16000000",  # bytes that the log keeps of a disk once it is no longer needed
)  # fmt: skip
_TRIES = 100  # to empty the log
# PostgreSQL's locks of applications have numbers: for steps that one server takes at a time, for places in a study.
STEP_LOCK_ID, PLACES_LOCK_ID = 6_316_377, 6_316_378
LOCK_SECONDS = 5  # that a lock of another server is waited for
IDLE_SECONDS = 10  # after which PostgreSQL ends the transaction of a server that has stopped in it, and frees its locks
_READERS = 50  # connections beside the first five: readers must never keep the writer waiting for one
_PATIENCE = 15.0  # seconds that a locked SQLite file is waited for
_WHOM: BindParameter[str] = bindparam("whom", expanding=True)
_LOCK_PEOPLE = (
    select(people.c.id)
    .where(or_(people.c.session.in_(_WHOM), people.c.name.in_(_WHOM)))
    .order_by(people.c.id)
    .with_for_update()
)
# PostgreSQL that vanishes, such as with its machine, is noticed after seconds and not after the system's two hours.
_CONNECT_ARGS = {
    "connect_timeout": 5, "keepalives": 1, "keepalives_idle": 5, "keepalives_interval": 2, "keepalives_count": 3,
    "tcp_user_timeout": 10_000,  # milliseconds; Linux alone knows it
}  # fmt: skip
_STATEMENT_SECONDS = 60  # after which PostgreSQL gives up a statement
_DAMAGED = ("malformed", "not a database", "database corruption")  # SQLite's words
#: What each version of the tables adds to the one before: the first makes them.
MIGRATIONS: tuple[Callable[[Connection], None], ...] = (metadata.create_all,)


class Damaged(OSError):
    """A file of SQLite of which parts cannot be read, or that is not where it was."""


class Database:
    """A database, ready for use.

    Parameters
    ----------
    url : str or URL
        Of SQLAlchemy.
    reading : bool
        Whether nothing is ever written to it; of one that is not there the version is 0 then (see `to_read`).

    Examples
    --------
    >>> database = Database("sqlite://")
    >>> database.version
    1
    """

    def __init__(self, url: str | URL, *, reading: bool = False) -> None:
        try:
            parsed = make_url(url)
        except ArgumentError:
            raise ValueError(f"database {url!r} is no URL such as postgresql+psycopg://user@host/name") from None
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
            settings["connect_args"] = {"timeout": _PATIENCE, "check_same_thread": False}
            if not parsed.database:  # in memory: there is one connection, or each thread would have its own
                settings["poolclass"] = StaticPool
            else:
                settings["max_overflow"] = _READERS
        try:
            self.engine = create_engine(parsed, **settings)
        except ModuleNotFoundError as error:
            raise ValueError(f"database {self.name} needs {error.name}: pip install '{error.name}[binary]'") from error
        if self.is_sqlite:
            if parsed.database and not reading:
                _make_private(Path(parsed.database))
            _own_transactions(self.engine, reading)
            event.listen(self.engine, "handle_error", self._say_damaged)
        else:
            _bounded_statements(self.engine)
        self._file = Path(parsed.database).absolute() if self.is_sqlite and parsed.database else None
        try:
            with self.engine.begin() as connection:
                self.version = version_of(connection) if reading else migrate(connection)
        except SQLAlchemyError as error:
            advice = f"; see who may read and write in {self._file.parent}" if self._file else ""
            raise ValueError(f"database {self.name} cannot be opened: {reason(error)}{advice}") from error
        self._file_id = None if self._file is None else _file_id(self._file)

    @classmethod
    def of_file(cls, path: Path) -> Database:
        """Return the database in a file of SQLite."""
        return cls(URL.create("sqlite", database=str(path)))

    @classmethod
    def to_read(cls, url: str | URL) -> Database:
        """Return a database that nothing is written to; where there is none yet, an empty one in memory."""
        database = cls(url, reading=True)
        if database.version > 0:
            return database
        database.close()
        return cls("sqlite://")

    def scrub(self) -> None:
        """Let what was deleted be gone from the files too: SQLite overwrites it, and its log is emptied."""
        if self.is_sqlite:
            with closing(self.engine.raw_connection()) as connection:  # a log cannot be emptied within a transaction
                for _ in range(_TRIES):
                    (busy, *_) = connection.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
                    if not busy:
                        return
                    time.sleep(0.1)  # somebody reads
            raise ValueError("what was deleted is still in the database's log, which others use; try again")

    def check(self) -> None:
        """Look at all pages of a file of SQLite.

        Raises
        ------
        Damaged
        """
        if self.is_sqlite:
            with self.engine.connect().execution_options(reading=True) as connection:
                found = connection.exec_driver_sql("PRAGMA quick_check(1)").scalar_one()
            if found != "ok":
                raise Damaged(self._damage(found))

    def check_in_place(self) -> None:
        """Make sure that what was written is in the file by its name: SQLite goes on with one that was deleted.

        Raises
        ------
        Damaged
        """
        if self._file is not None and _file_id(self._file) != self._file_id:
            raise Damaged(
                f"{self._file} was deleted, renamed or replaced, or its folder cannot be read, and no answer is kept: "
                "put the file back, or stop the server, put a backup in its place and start again"
            )

    def _say_damaged(self, context: ExceptionContext) -> None:
        error = context.original_exception
        if isinstance(error, sqlite3.DatabaseError) and any(each in str(error) for each in _DAMAGED):
            raise Damaged(self._damage(str(error))) from None

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
    """Bring the tables up to date, and return their version; refuse those of a later program."""
    one_at_a_time(connection)
    before = version_of(connection)
    for step in MIGRATIONS[before:]:
        step(connection)
    if before < len(MIGRATIONS):
        write_fact(connection, "version", str(len(MIGRATIONS)))
    return len(MIGRATIONS)


def version_of(connection: Connection) -> int:
    """Return the version of the tables, 0 if there are none; refuse those of a later program."""
    if not inspect(connection).has_table(facts.name):
        return 0
    version = int(read_fact(connection, "version") or 0)
    if version > len(MIGRATIONS):
        raise ValueError(f"the study was made by a later version of nearer (tables {version}); update nearer")
    return version


def read_fact(connection: Connection, name: str) -> str | None:
    """Return a single fact, None if nobody has written it."""
    return connection.execute(select(facts.c.value).where(facts.c.name == name)).scalar()


def write_fact(connection: Connection, name: str, value: str) -> None:
    """Write a single fact, in place of any before."""
    statement = insertion(connection.dialect.name, facts).values(name=name, value=value)
    connection.execute(statement.on_conflict_do_update(index_elements=[facts.c.name], set_={"value": value}))


def claim_fact(connection: Connection, name: str, value: str) -> str:
    """Write a single fact unless it is there already, and return what is there: of several servers one is the first."""
    statement = insertion(connection.dialect.name, facts).values(name=name, value=value)
    connection.execute(statement.on_conflict_do_nothing())
    kept: str = connection.execute(select(facts.c.value).where(facts.c.name == name)).scalar_one()
    return kept


def insertion(dialect: str, table: Table) -> Any:
    """Return an insertion in a dialect, which can say what is done about rows that are there already."""
    if dialect == "sqlite":
        from sqlalchemy.dialects.sqlite import insert as of_sqlite

        return of_sqlite(table)
    from sqlalchemy.dialects.postgresql import insert as of_postgresql

    return of_postgresql(table)


def one_at_a_time(connection: Connection) -> None:
    """Let no other server do its part of the same until this transaction ends; SQLite has one writer anyway."""
    _lock_number(connection, STEP_LOCK_ID)


def lock(connection: Connection, whom: Collection[str], *, places: bool) -> None:
    """Let no other server receive some people until this transaction ends, nor give away places in the study.

    SQLite has one writer at a time, which holds its lock from the beginning of the transaction. In PostgreSQL all locks
    are taken before anything else is done, and always in the same order: servers never wait for each other in a circle.
    A server that stops while it holds some, as a machine does that is put to sleep, stops nobody for long.

    Parameters
    ----------
    connection : Connection
    whom : collection of str
        Hashes of the tokens of people's sessions, or names of people.
    places : bool
        Whether people are counted who take part.
    """
    if connection.dialect.name != "postgresql" or not (places or whom):
        return
    connection.exec_driver_sql(
        f"SET LOCAL lock_timeout = '{LOCK_SECONDS}s'; SET LOCAL idle_in_transaction_session_timeout = '{IDLE_SECONDS}s'"
    )
    if places:
        _lock_number(connection, PLACES_LOCK_ID)
    if whom:
        connection.execute(_LOCK_PEOPLE, {"whom": list(whom)})


def _lock_number(connection: Connection, number: int) -> None:
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({number})")


def reason(error: SQLAlchemyError) -> str:
    """Return what a driver said first, without the statement and its values, which further lines may have."""
    inner = getattr(error, "orig", None)
    return next(iter(str(inner if inner is not None else error).strip().splitlines()), "")


def _file_id(file: Path) -> tuple[int, int] | None:
    """Return what tells a file from others, whatever it is called; None if there is none."""
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
    @event.listens_for(engine, "connect")
    def connected(connection: Any, _: Any) -> None:
        before, connection.autocommit = connection.autocommit, True  # or it would end with the first rollback
        with closing(connection.cursor()) as cursor:
            cursor.execute(f"SET statement_timeout = '{_STATEMENT_SECONDS}s'")
        connection.autocommit = before


def _own_transactions(engine: Engine, reading: bool) -> None:
    @event.listens_for(engine, "connect")
    def connected(connection: Any, _: Any) -> None:
        connection.isolation_level = None
        for setting in ("query_only=ON",) if reading else _PRAGMAS:
            connection.execute(f"PRAGMA {setting}")

    @event.listens_for(engine, "begin")
    def begun(connection: Connection) -> None:
        how = "DEFERRED" if reading or connection.get_execution_options().get("reading") else "IMMEDIATE"
        connection.exec_driver_sql(f"BEGIN {how}")
