"""Whatever runs on a cluster gives the bytes that one process gives, with workers lost on the way."""

import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import dask
import pytest
import toy_work
from children import finished, started
from commandline import Command
from distributed import LocalCluster
from distributed.core import Status

from mbrparse.decode.parser.sentences import read_chunks, sentence_ends
from mbrparse.log import Log, no_log
from mbrparse.run import cluster as clusters
from mbrparse.run import cluster_client
from mbrparse.run.blocks_file import BlocksFile
from mbrparse.run.in_order import in_order
from mbrparse.run.jobs import open_pool
from mbrparse.run.pool import Scheduler, TaskFunction, WorkersError
from mbrparse.run.task_sizes import Packer

PARSE = "parse -g grammar.txt tags.txt"
# Tests share workers; where Dask does not bring back one that died as it started, others would wait for it.
pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    """Two processes of one thread each, which a nanny begins anew where they die."""
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as made:
        yield made


@pytest.fixture
def address(cluster: LocalCluster) -> str:
    """What ``--scheduler`` takes."""
    place: str = cluster.scheduler_address
    return place


def files(folder: Path) -> dict[str, str]:
    """The texts in a folder; how many seconds a sentence took is nobody's bytes."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix not in (".png", ".svg"):
            text = path.read_text()
            if path.suffix == ".jsonl":
                rows = [json.loads(line) for line in text.splitlines()]
                text = "\n".join(str({**row, "seconds": None}) for row in rows)
            found[str(path.relative_to(folder))] = text
    return found


@pytest.fixture
def treebank(folder: Path, command: Command) -> Path:
    """The working folder: ``trees`` of the embedded grammar, ``binary`` ones, and a ``grammar`` of these."""
    for line in (
        "sample embedded:flights -n 150 --seed 4 -o trees",
        "binarize trees -o binary",
        "train binary -o grammar",
    ):
        assert command(line).code == 0
    return folder


def both(address: str, act: Callable[[str, str], None]) -> dict[str, str]:
    """What is left by a command in one process; the same must be left by workers."""
    left = []
    for name, how in (("alone", ""), ("cluster", f"--scheduler {address}")):
        Path(name).mkdir()
        act(name, how)
        left.append(files(Path(name)))
    assert left[0] == left[1]
    return left[0]


@pytest.mark.usefixtures("treebank")
def test_parses_are_the_same(address: str, command: Command) -> None:
    def parse(to: str, how: str) -> None:
        done = command(f"parse binary -g grammar --details {to}/d.jsonl -o {to}/parses {how}")
        assert (done.code, done.err) == (0, "mbrparse: 150 sentences, 0 fell back\n"), done

    assert len(both(address, parse)["parses"].splitlines()) == 150


@pytest.mark.usefixtures("treebank")
def test_trained_grammars_are_the_same(address: str, command: Command) -> None:
    def train(to: str, how: str) -> None:
        options = "--method inside-outside --nonterminals 3 --iterations 2 --heldout binary"
        assert command(f"train trees {options} --curve {to}/curve -o {to}/trained {how}").code == 0

    assert both(address, train).keys() == {"curve", "trained", "trained.checkpoint"}


@pytest.mark.usefixtures("treebank")
def test_states_are_the_same(address: str, command: Command) -> None:
    def train(to: str, how: str) -> None:
        options = "--method split-merge --terminals words --rare 3 --cycles 1"
        assert command(f"train binary {options} -o {to}/states {how}").code == 0

    assert both(address, train).keys() == {"states", "states.checkpoint", "states.cycle-1"}


@pytest.mark.usefixtures("treebank")
def test_resamples_are_the_same(address: str, command: Command) -> None:
    objectives = "--objective labelled-tree --objective bracketed-recall"
    assert command(f"parse binary -g grammar {objectives} -o {{objective}}").code == 0

    def compare(to: str, how: str) -> None:
        for options in (
            f"labelled-tree bracketed-recall --significance --resamples 2000 -o {to}/table",
            f"--runs both=labelled-tree,bracketed-recall --resamples 50 -o {to}/runs",
        ):
            assert command(f"evaluate binary {options} {how}").code == 0

    assert "randomization" in both(address, compare)["table"]


@pytest.mark.usefixtures("folder")
def test_experiments_are_the_same(address: str, command: Command) -> None:
    def run(to: str, how: str) -> None:
        size = "--train 10 --test 5 --iterations 2 --nonterminals 2 --runs 3"
        assert command(f"experiment palindromes {size} -o {to}/p {how}").code == 0

    assert "p/run-03.json" in both(address, run)


WORDS = ["ant", "bee", "cat", "dog", "eel", "fox"]


def lines(path: Path, place: str, begin: Callable[..., Any], log: Log = no_log) -> list[str]:
    """The lines of a file's sentences, by the workers of a cluster."""
    work = TaskFunction(begin)
    with open_pool(Scheduler(place), work, log) as pool:
        tasks = Packer(pool, read_chunks(path, "tokens"), sentence_ends)
        return list(chain.from_iterable(in_order(pool, work, tasks, toy_work.count, toy_work.refused, log)))


@pytest.fixture
def words(tmp_path: Path) -> Path:
    path = tmp_path / "words"
    path.write_text("".join(f"{word}\n" for word in WORDS))
    return path


def test_a_sentence_that_workers_die_of_falls_back_and_no_other(words: Path, address: str) -> None:
    told: list[str] = []
    found = lines(words, address, partial(toy_work.begin, "dog"), told.append)
    assert found == ["ant", "bee", "cat", "refused dog", "eel", "fox"]
    assert told[-1] == "sentence 4 falls back: worker died twice (on the cluster)"
    assert sum(" was lost; its tasks (1) are retried" in line for line in told) >= 6


def test_a_worker_killed_in_the_middle_costs_nothing(words: Path, address: str, tmp_path: Path) -> None:
    told: list[str] = []
    begin = partial(toy_work.begin, "dog", tmp_path / "marker")
    assert lines(words, address, begin, told.append) == WORDS
    assert sum("was lost; its tasks (1) are retried" in line for line in told) == 1


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits long for what does not come."""
    monkeypatch.setattr(cluster_client, "CONNECT_TIMEOUT", 0.3)
    monkeypatch.setattr(clusters, "RECONNECT_TIMEOUT", 0.0)
    monkeypatch.setattr(clusters, "RECONNECT_EVERY", 0.01)


def in_process() -> LocalCluster:
    """A cluster of one thread of this process, which sees what tests set."""
    threads = {"processes": False, "protocol": "tcp", "dashboard_address": None}
    return LocalCluster(n_workers=1, threads_per_worker=1, silence_logs=50, **threads)


def ended(cluster: LocalCluster) -> None:
    """End what is left of a cluster; one without its scheduler would wait for it."""
    for worker in cluster.workers.values():
        cluster.sync(worker.close, nanny=False)
    with suppress(TimeoutError):
        cluster.close(timeout=0.5)
    cluster.status = Status.closed  # or the end of this process would try again


class Gate:
    """Work that begins at the first cluster and is done at the second."""

    entered = threading.Event()
    opened = threading.Event()

    @classmethod
    def begin(cls) -> Callable[..., Any]:
        def work(parts: Any) -> Any:
            cls.entered.set()
            cls.opened.wait(60)
            return toy_work.begin()(parts)

        return work


@pytest.fixture
def gate() -> Iterator[type[Gate]]:
    Gate.entered.clear()
    Gate.opened.clear()
    yield Gate
    Gate.opened.set()


def test_the_scheduler_may_come_back(
    words: Path, tmp_path: Path, gate: type[Gate], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_client, "CONNECT_TIMEOUT", 1.0)
    file, told = tmp_path / "scheduler.json", list[str]()
    first = in_process()
    file.write_text(json.dumps({"address": first.scheduler_address}))
    made: list[LocalCluster] = []

    def replace() -> None:
        gate.entered.wait(60)
        first.sync(first.scheduler.close)
        made.append(in_process())
        gate.opened.set()
        file.write_text(json.dumps({"address": made[0].scheduler_address}))

    thread = threading.Thread(target=replace)
    thread.start()
    try:
        assert lines(words, str(file), gate.begin, told.append) == WORDS
    finally:
        thread.join()
        for one in (*made, first):
            ended(one)
    lost = f"lost the scheduler {file}; 1 tasks wait until it is back"
    assert told == [lost, f"the scheduler {file} is back"]


@pytest.mark.usefixtures("quick")
def test_a_scheduler_that_stays_away_is_an_error(words: Path, gate: type[Gate]) -> None:
    gone = in_process()
    place = gone.scheduler_address

    def end() -> None:
        gate.entered.wait(60)
        gone.sync(gone.scheduler.close)

    thread = threading.Thread(target=end)
    thread.start()
    with pytest.raises(
        WorkersError, match=r"was lost, and is not back .*; parse --work FOLDER keeps what is"
    ):
        lines(words, place, gate.begin)
    gate.opened.set()
    thread.join()


@pytest.mark.usefixtures("quick")
def test_what_is_no_scheduler_is_one_line(toy_folder: Path, command: Command) -> None:
    (toy_folder / "other.json").write_text('{"addresses": []}')
    (toy_folder / "text").write_text("tcp")
    for place, error in {
        "nowhere": "nowhere: neither a scheduler's address nor its file; give tcp://HOST:PORT, or the ",
        "other.json": "other.json: not a scheduler's file: it names no address; give the file of: ",
        "text": "text: not a scheduler's file: it is no JSON, or was cut off; ",
        ".": ".: is a directory, not a file",
        "tcp://127.0.0.1:9": "tcp://127.0.0.1:9: no scheduler answers (",
        "127.0.0.1:9": "127.0.0.1:9: no scheduler answers (",
        "carrier://pigeon:1": "carrier://pigeon:1: neither a scheduler's address",
        "tls://127.0.0.1:9": "tls://127.0.0.1:9: a scheduler with TLS, for which Dask has no certificate",
    }.items():
        assert command(f"{PARSE} --scheduler {place}").error.startswith(error)


@pytest.mark.usefixtures("toy_folder")
def test_without_dask_one_line_says_so(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("mbrparse.run.cluster_client", "mbrparse.run.cluster"):
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "dask", None)
    done = command(f"{PARSE} --scheduler tcp://127.0.0.1:9")
    assert (
        done.error
        == "--scheduler needs Dask, which is not installed; pip install '.[cluster]' in mbrparse's folder"
    )


@pytest.mark.usefixtures("toy_folder")
def test_workers_of_another_version_are_refused(
    address: str, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    newer = {**cluster_client.VERSIONS_NEEDED, "mbrparse": "0.0.1"}
    monkeypatch.setattr(cluster_client, "VERSIONS_NEEDED", newer)
    error = command(f"{PARSE} --scheduler {address}").error
    assert f"a worker of {address} has mbrparse" in error
    assert ", not 0.0.1; install the same on this machine and on all workers, and restart" in error


@pytest.mark.parametrize(
    ("place", "exposed"),
    [
        ("tcp://10.0.0.1:8786", True),
        ("host:8786", True),
        ("tcp://localhost.example.org:1", True),
        ("tls://10.0.0.1:8786", False),
        ("tcp://127.0.0.1:9", False),
        ("localhost:1", False),
        ("127.evil.example.org:1", True),
        ("tcp://[::1]:1", False),
    ],
)
def test_schedulers_that_others_may_reach_get_a_warning(place: str, exposed: bool) -> None:
    assert Scheduler(place).exposed is exposed


@pytest.mark.usefixtures("toy_folder")
def test_tls_settings_that_do_not_fit_are_one_line(command: Command) -> None:
    with dask.config.set({"distributed.comm.require-encryption": True}):
        error = command(f"{PARSE} --scheduler tcp://127.0.0.1:9").error
        assert error == "tcp://127.0.0.1:9: Dask's settings require encryption; give tls://HOST:PORT"
    files = {"ca-file": "no.pem", "client.cert": "no.pem", "client.key": "no.pem"}
    with dask.config.set({f"distributed.comm.tls.{name}": path for name, path in files.items()}):
        error = command(f"{PARSE} --scheduler tls://127.0.0.1:9").error
        assert error.startswith("tls://127.0.0.1:9: Dask's TLS settings cannot be used (")


@pytest.mark.parametrize("place", ["http://127.0.0.1:9", "file:///etc/passwd"])
@pytest.mark.usefixtures("toy_folder")
def test_other_protocols_are_no_schedulers(place: str, command: Command) -> None:
    assert command(f"{PARSE} --scheduler {place}").error.startswith(f"{place}: neither a scheduler's address")


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl")
@pytest.mark.usefixtures("toy_folder")
def test_a_cluster_by_tls_as_the_page_says() -> None:
    """Certificate and settings are those of docs/cluster.md; without them nobody gets an answer."""
    page = (Path(__file__).parents[2] / "docs" / "cluster.md").read_text("utf-8")
    [make] = re.findall(r"```bash\n(.*openssl.*)\n```", page)
    [settings] = re.findall(r"```yaml\n# tls.yaml\n(.*?)```", page, re.DOTALL)
    assert finished("bash", "-c", make).returncode == 0
    assert stat.S_IMODE(Path("key.pem").stat().st_mode) == 0o600
    Path("tls.yaml").write_text(settings)
    known = {"DASK_CONFIG": "tls.yaml"}
    here = "--protocol tls --host 127.0.0.1 --dashboard-address 127.0.0.1:0 --scheduler-file s.json"
    programs = ("scheduler --port 0", "worker --nworkers 1 --nthreads 1 --no-nanny --death-timeout 300")
    dask = Path(sys.executable).with_name("dask")
    mbrparse = (sys.executable, "-m", "mbrparse", *PARSE.split())
    alone = finished(*mbrparse)
    with ExitStack() as stack:
        for program in programs:
            line = [str(dask), *program.split(), *here.split()]
            process = subprocess.Popen(line, env={**os.environ, **known}, stderr=subprocess.DEVNULL)
            stack.callback(process.wait)
            stack.callback(process.terminate)
        while not Path("s.json").exists():
            time.sleep(0.1)
        by_tls = finished(*mbrparse, "--scheduler", "s.json", environment=known)
        assert (by_tls.returncode, by_tls.stdout, by_tls.stderr) == (0, alone.stdout, alone.stderr)
        stranger = finished(*mbrparse, "--scheduler", "s.json")
        assert (stranger.returncode, stranger.stdout) == (1, "")
        assert stranger.stderr.count("\n") == 1
        assert "a scheduler with TLS, for which Dask has no certificate here" in stranger.stderr


def test_jobs_of_the_command_line_and_a_scheduler_of_a_file(toy_folder: Path, command: Command) -> None:
    """The command line is nearer than a file of settings."""
    (toy_folder / "mbrparse.toml").write_text('[parse]\nscheduler = "nowhere"\n')
    named = "--config mbrparse.toml"
    assert command(f"{named} {PARSE} --jobs 1").code == 0
    assert "nowhere: neither a scheduler's address" in command(f"{named} {PARSE}").err


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT")
def test_ctrl_c_ends_with_one_line(treebank: Path, cluster: LocalCluster) -> None:
    os.mkfifo("pipe")
    seen = set(cluster.scheduler.clients)
    with started(f"parse pipe -g grammar -o out --scheduler {cluster.scheduler_address}") as child:
        with open("pipe", "w") as stream:
            stream.write((treebank / "binary").read_text())
            stream.flush()
            while not any("mbrparse" in name for name in set(cluster.scheduler.clients) - seen):
                assert child.poll() is None, child.stderr and child.stderr.read()
                time.sleep(0.05)
            child.send_signal(signal.SIGINT)
            assert child.wait() == 130
        assert child.stderr is not None
        assert child.stderr.read() == "mbrparse: interrupted\n"
    assert not Path("out").exists()


def test_a_client_that_is_killed_goes_on(treebank: Path, address: str, command: Command) -> None:
    """Its input does not end before it is dead, so that it is in the middle of its work.

    It holds all tasks of the first round, and what the second takes is known only from the first.
    """
    Path("input").write_text((treebank / "binary").read_text() * 14)
    os.mkfifo("pipe")
    parse = f"parse -g grammar -o out --work work --scheduler {address}"
    blocks = BlocksFile(Path("work/blocks"))
    with started(f"{parse} pipe") as child, open("pipe", "w") as stream:
        stream.write(Path("input").read_text())
        stream.flush()
        while not list(blocks.records()):
            assert child.poll() is None, child.stderr and child.stderr.read()
            time.sleep(0.05)
        child.kill()
        child.wait()
    assert not Path("out").exists()
    alone = command("parse -g grammar -o alone input")
    resumed = command(f"{parse} --resume input")
    assert (resumed.code, resumed.err) == (0, alone.err)
    assert Path("out").read_bytes() == Path("alone").read_bytes()
