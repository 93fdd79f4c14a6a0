"""A server that no proxy protects: what one computer may cost it, and whether others are served meanwhile."""

import socket
import threading
import time
from contextlib import ExitStack, closing, suppress
from functools import partial
from urllib.parse import urlsplit

import pytest

from nearer.survey import server as limits
from nearer.survey.server import BoundedProtocol, Connections, Serving
from nearer.survey.web import BURST_MINUTES, RateLimit, network_of

ATTACKER = "127.0.0.66"
GET = b"GET /look.css HTTP/1.1\r\nhost: x\r\n"
POST = b"POST /api/answers HTTP/1.1\r\nhost: x\r\nx-nearer: 1\r\ncontent-type: application/json\r\n"


@pytest.fixture
def listening(serve, monkeypatch):
    """Return a function that serves a study at a port, with limits that are reached soon; and end it."""
    uvicorn = pytest.importorskip("uvicorn")
    stack = ExitStack()

    def begin(most=40, most_each=20, **seconds):
        for name, value in seconds.items():
            monkeypatch.setattr(limits, name, value)
        served = serve()
        table = Connections(most, most_each)
        config = uvicorn.Config(
            served.app, port=0, http=partial(BoundedProtocol, table), ws="none", log_config=None, log_level="error",
            lifespan="off",
        )  # fmt: skip
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        served.port, served.table = server.servers[0].sockets[0].getsockname()[1], table

        def stop():
            server.should_exit = server.force_exit = True
            thread.join(20)

        stack.callback(stop)
        return served

    with stack:
        yield begin


def connect(served, address=ATTACKER):
    return closing(socket.create_connection(("127.0.0.1", served.port), 10, source_address=(address, 0)))


def answer_to(connection, message):
    """Send a message, and return what comes back until the server ends the connection or waits for more."""
    found = b""
    connection.settimeout(2)
    try:
        connection.sendall(message)
        while piece := connection.recv(65_536):
            found += piece
    except TimeoutError:
        pass
    except OSError:
        found += b"(ended)"
    return found


def is_served(served, address="127.0.0.1"):
    with connect(served, address) as connection:
        return answer_to(connection, GET + b"connection: close\r\n\r\n").startswith(b"HTTP/1.1 200")


def is_ended(connection, seconds):
    connection.settimeout(seconds)
    try:
        return connection.recv(65_536) == b""
    except TimeoutError:
        return False
    except OSError:
        return True


@pytest.mark.parametrize(
    "head",
    [
        GET + b"a: " + b"b" * 20_000, b"GET /" + b"b" * 20_000, GET + b"a: b\r\n" * 3000, b"\r\n" * 10_000,
        GET + b"a: b\r\n" * 101 + b"\r\n",
        POST + b"transfer-encoding: chunked\r\n\r\n" + b"1;" + b"a" * 200_000,
        POST + b"transfer-encoding: chunked\r\n\r\n0\r\n" + b"a: b\r\n" * 200,
        POST + b"content-length: 999999999\r\n\r\n" + b"a" * 200_000,
    ],
)  # fmt: skip
def test_a_request_without_end_is_ended(listening, head):
    served = listening()
    with connect(served) as connection:
        reply = answer_to(connection, head)
        assert not reply or reply.startswith((b"HTTP/1.1 4", b"(ended)"))
        assert is_ended(connection, 5)
    assert is_served(served, ATTACKER)


def test_what_browsers_send_is_taken(listening):
    served = listening()
    cookie = b"cookie: " + b"a" * 12_000 + b"\r\n"
    with connect(served) as connection:
        for _ in range(3):  # on one connection, in pieces
            for part in (GET[:7], GET[7:] + cookie[:100], cookie[100:], b"\r\n"):
                connection.sendall(part)
                time.sleep(0.02)
            assert connection.recv(65_536).startswith(b"HTTP/1.1 200")
        body = b'{"answers": []}'.ljust(60_000)
        connection.sendall(POST + b"content-length: 60000\r\n\r\n" + body)
        assert connection.recv(65_536).startswith(b"HTTP/1.1 401")  # all of it was read


def test_a_few_requests_wait_and_many_are_refused(listening):
    served = listening()
    with connect(served) as connection:
        last = GET + b"connection: close\r\n\r\n"
        assert answer_to(connection, (GET + b"\r\n") * 3 + last).count(b"HTTP/1.1 200") == 4
    with connect(served) as connection:
        assert answer_to(connection, (GET + b"\r\n") * 10_000).count(b"HTTP/1.1 200") < 10
        assert is_ended(connection, 5)


def test_whoever_leaves_with_requests_waiting_leaves_no_traceback(listening, caplog):
    served = listening(most=200, most_each=100)
    for n_requests in (7, 3):  # more than may wait, and fewer
        for _ in range(60):
            with connect(served) as connection, suppress(OSError):
                connection.sendall(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n" * n_requests)
    assert is_served(served)
    assert not [record for record in caplog.records if record.exc_info]


@pytest.mark.parametrize("start", [b"", GET, POST + b"content-length: 100\r\n\r\n", b"\r\n"])
def test_a_request_that_does_not_come_is_not_waited_for(listening, start):
    served = listening(REQUEST_SECONDS=0.5)
    with connect(served) as connection:
        connection.sendall(start)
        began = time.monotonic()
        assert is_ended(connection, 10)
        assert time.monotonic() - began > 0.3


def test_dripping_does_not_help(listening):
    served = listening(REQUEST_SECONDS=0.5)
    with connect(served) as connection:
        connection.sendall(b"G")
        time.sleep(0.1)
        deadline = time.monotonic() + 10
        while served.table.n and time.monotonic() < deadline:
            with suppress(OSError):
                connection.sendall(b"G")
            time.sleep(0.05)
        assert served.table.n == 0


def test_an_answer_that_nobody_reads_is_not_kept(listening):
    served = listening(SEND_SECONDS=0.5)
    with connect(served) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(0.2)
        deadline = time.monotonic() + 15
        while served.table.n and time.monotonic() < deadline:
            try:
                connection.sendall(GET + b"\r\n")
            except OSError:
                time.sleep(0.05)
        assert served.table.n == 0


def test_one_address_takes_no_others_place(listening):
    served = listening(most=60, most_each=20)
    with ExitStack() as stack:
        for _ in range(100):
            connection = stack.enter_context(connect(served))
            try:
                connection.sendall(GET)  # half a request
            except OSError:
                continue
        time.sleep(0.2)
        assert served.table.n == 20
        assert is_served(served)


def test_idle_connections_of_a_class_give_way_to_new_ones(listening):
    served = listening(most=60, most_each=20)
    with ExitStack() as stack:
        for _ in range(60):  # each keeps its connection
            connection = stack.enter_context(connect(served))
            connection.sendall(GET + b"\r\n")
            assert connection.recv(65_536).startswith(b"HTTP/1.1 200")
        assert served.table.n <= 20


def test_many_addresses_do_not_take_all_places(listening):
    served = listening(most=30, most_each=20)
    with ExitStack() as stack:
        for number in range(60):
            connection = stack.enter_context(connect(served, f"127.0.0.{100 + number % 6}"))
            try:
                connection.sendall(GET)
            except OSError:
                continue
        time.sleep(0.2)
        assert served.table.n == 30
        assert is_served(served)


@pytest.mark.parametrize("path", ["/researcher/", "/api/state/", "//", "/stimuli/0//"])
def test_no_redirection_follows_the_name_of_the_host(serve, path):
    client = serve().client()
    found = client.get(path, headers={"host": "evil.example"}, follow_redirects=False)
    assert "evil.example" not in found.headers.get("location", "")
    assert found.status_code not in (301, 302, 307, 308)


def test_new_people_of_one_network_have_a_limit(serve):
    served = serve(serving={"newcomers_per_minute": 2})
    client = served.client()
    statuses = []
    for _ in range(2 * BURST_MINUTES + 5):
        client.cookies.clear()
        statuses.append(client.get("/").status_code)
    assert statuses == [200] * 2 * BURST_MINUTES + [429] * 5
    assert len(served.people()) == 2 * BURST_MINUTES


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_the_link_of_a_server_on_all_addresses_can_be_opened(host):
    link = urlsplit(Serving(host=host, port=8001).link)
    assert link.hostname not in ("", "0.0.0.0", "::")
    assert (link.scheme, link.port) == ("http", 8001)


def test_each_key_has_its_own_limit():
    limit = RateLimit(2, 0.001)
    assert [limit.allows("somebody") for _ in range(3)] == [True, True, False]
    assert limit.allows("somebody else")


def test_households_are_networks():
    assert network_of("2001:db8:1:2::1") == network_of("2001:db8:1:2:ffff::1") != network_of("2001:db8:1:3::1")
    assert network_of("fe80::1%eth0") == "fe80::"
    assert network_of("::ffff:192.0.2.1") == network_of("192.0.2.1") == "192.0.2.1"
    assert network_of("no address:") == "no address:"
