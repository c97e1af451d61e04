"""What is shipped: wheel and source distribution hold each file of the package once."""

import sys
import tarfile
import zipfile
from collections import Counter
from pathlib import Path, PurePosixPath

import pytest
from children import finished

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    done = finished(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT)
    assert done.returncode == 0, done
    return folder


def package_files() -> set[str]:
    return {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "mbrparse").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


@pytest.mark.long
def test_wheel_holds_each_file_once(distributions: Path) -> None:
    [wheel] = distributions.glob("*.whl")
    names = Counter(name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name)
    assert set(names) == package_files()
    assert set(names.values()) == {1}


@pytest.mark.long
def test_source_distribution_holds_each_file_once(distributions: Path) -> None:
    [archive] = distributions.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        names = [PurePosixPath(*PurePosixPath(member.name).parts[1:]) for member in tar if member.isfile()]
    counted = Counter(str(name) for name in names if name.parts[0] not in ("tests", "mbrparse.egg-info"))
    assert package_files() <= set(counted)
    assert set(counted.values()) == {1}
    rooms = {"cli", "treebank", "grammar", "decode", "evaluate"}
    assert not rooms & {name.parts[0] for name in names}, "the links at the top are for readers only"


def test_links_lead_into_the_package() -> None:
    for room in ("cli", "treebank", "grammar", "decode", "evaluate"):
        assert (ROOT / room).is_symlink()
        assert (ROOT / room).resolve() == ROOT / "mbrparse" / room
