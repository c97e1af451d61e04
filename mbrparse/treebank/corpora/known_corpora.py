"""The corpora that are known by name: location, style, label conventions, licence and citation of each.

One row a corpus serves the readers, ``mbrparse corpora``, the docs and the tests.
"""

from __future__ import annotations

from dataclasses import dataclass

from mbrparse.treebank.formats.conventions import StyleName


@dataclass(frozen=True, slots=True)
class Corpus:
    """What is known of a corpus.

    ``name`` is what stands before the path (``craft:PATH``), or the whole name (``nltk:alpino``). In what
    is at PATH, its files have one of ``suffixes`` and lie in the first of ``folders`` that is there.
    ``style`` is how the trees are written (``styles``), ``functions`` what ``--functions strip`` cuts there
    (``categories``), ``heads`` the head rules that know its labels. ``trees`` and ``words`` are what mbrparse
    reads of the whole corpus, or what its makers say of it (``about``), with nothing empty counted.
    ``source`` says where to get it, if not from NLTK.
    """

    name: str
    title: str
    language: str
    licence: str
    citation: str
    source: str = ""
    style: StyleName = "penn"
    suffixes: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    functions: str = "after:-="
    heads: str | None = None
    empty: str = "-NONE-"
    trees: int | None = None
    words: int | None = None
    about: str = ""

    @property
    def takes_path(self) -> bool:
        """Whether the user says where it lies."""
        return ":" not in self.name

    @property
    def get(self) -> str:
        """How to get it."""
        return self.source or f"python -m nltk.downloader {self.name.removeprefix('nltk:')}"

    @property
    def spec(self) -> str:
        """How it is named on the command line."""
        return f"{self.name}:{'DIR' if self.name == 'wsj' else 'PATH'}" if self.takes_path else self.name

    @property
    def size(self) -> str:
        """For people."""
        if self.trees is None:
            return self.about
        words = "" if self.words is None else f", {self.words:,} words"
        return f"{self.trees:,} trees{words}"


CORPORA = (
    Corpus(
        "embedded:flights",
        "flights, sampled from a small grammar",
        "English",
        licence="MIT",
        citation="mbrparse",
        source="it is part of mbrparse",
        heads="collins",
        trees=1500,
        words=13_930,
    ),
    Corpus(
        "craft",
        "Colorado Richly Annotated Full-Text corpus",
        "English",
        licence="CC BY 3.0",
        citation="Verspoor et al. 2012, A corpus of full-text journal articles is a robust evaluation tool "
        "for revealing differences in performance of biomedical natural language processing tools, "
        "BMC Bioinformatics 13:207, doi:10.1186/1471-2105-13-207",
        source="git clone https://github.com/UCDenver-ccp/CRAFT",
        suffixes=(".tree",),
        folders=("penn",),
        heads="collins",
        trees=30_830,
        words=793_651,
    ),
    Corpus(
        "icepahc",
        "Icelandic Parsed Historical Corpus",
        "Icelandic",
        licence="CC BY 4.0",
        citation="Wallenberg, Ingason, Sigurðsson & Rögnvaldsson 2011, Icelandic Parsed Historical Corpus "
        "(IcePaHC), version 0.9",
        source="git clone https://github.com/antonkarl/icecorpus",
        style="icepahc",
        suffixes=(".psd",),
        folders=("finished", "psd"),
        empty="0, *, *-1, *T*-1, *con*, *pro* ...",
        about="61 files, 72,973 trees, 1,017,283 words",
    ),
    Corpus(
        "greynir",
        "GreynirCorpus, its gold standard",
        "Icelandic",
        licence="CC BY 4.0",
        citation="Miðeind ehf., GreynirCorpus, version 1.1, https://github.com/mideind/GreynirCorpus",
        source="git clone https://github.com/mideind/GreynirCorpus",
        style="greynir",
        suffixes=(".gld",),
        empty="none",
        trees=4_997,
        words=96_122,
    ),
    Corpus(
        "penn-historical",
        "Penn Parsed Corpora of Historical English, YCOE, and others in their style",
        "English and others",
        licence="each its own",
        citation="Kroch & Taylor 2000 (PPCME2); Kroch, Santorini & Delfs 2004 (PPCEME); Taylor, Warner, "
        "Pintzuk & Beths 2003 (YCOE)",
        source="from the LDC (LDC2020T16: PPCME2, PPCEME, PPCMBE2) or the Oxford Text Archive (YCOE)",
        style="penn-historical",
        suffixes=(".psd",),
        empty="0, *, *-1, *T*-1, *con*, *pro* ...",
        about="1.2 (PPCME2), 1.8 (PPCEME), 1.5 (YCOE) million words",
    ),
    Corpus(
        "wsj",
        "Penn Treebank, Wall Street Journal",
        "English",
        licence="LDC",
        citation="Marcus, Santorini & Marcinkiewicz 1993, Building a large annotated corpus of English, "
        "Computational Linguistics 19(2)",
        source="https://catalog.ldc.upenn.edu/LDC99T42",
        heads="collins",
        about="2,499 articles, 1 million words",
    ),
    Corpus(
        "nltk:treebank",
        "Penn Treebank, the sample in NLTK",
        "English",
        licence="non-commercial use, for illustration",
        citation="Marcus, Santorini & Marcinkiewicz 1993",
        heads="collins",
        trees=3_914,
        words=94_084,
    ),
    Corpus(
        "nltk:sinica_treebank",
        "Sinica Treebank, the sample in NLTK",
        "Chinese",
        licence="CC BY-NC-SA 2.5",
        citation="Chen, Tsai, Chen & Huang 1999, The construction of Sinica Treebank (in Chinese), "
        "Computational Linguistics and Chinese Language Processing 4(2)",
        style="nltk",
        empty="none",
        trees=10_000,
        words=91_634,
    ),
    Corpus(
        "nltk:cess_esp",
        "CESS-ECE, Spanish",
        "Spanish",
        licence="its owners', for research that cites it",
        citation="Martí, Taulé, Màrquez & Bertran 2007, CESS-ECE: a multilingual and multilevel annotated "
        "corpus",
        style="cess",
        functions="after:-",
        empty="*0*",
        trees=6_013,
        words=188_680,
    ),
    Corpus(
        "nltk:cess_cat",
        "CESS-ECE, Catalan",
        "Catalan",
        licence="its owners', for research that cites it",
        citation="Martí, Taulé, Màrquez & Bertran 2007",
        style="cess",
        functions="after:-",
        empty="*0*",
        about="1,377 files",
    ),
    Corpus(
        "nltk:floresta",
        "Floresta sintá(c)tica, version 7.4",
        "Portuguese",
        licence="non-commercial use",
        citation="Afonso, Bick, Haber & Santos 2002, Floresta sintá(c)tica: a treebank for Portuguese, LREC",
        style="floresta",
        functions="before:+",
        empty="none",
        trees=9_261,
        words=212_317,
    ),
    Corpus(
        "nltk:alpino",
        "Alpino Treebank, the newspaper part of the Eindhoven corpus",
        "Dutch",
        licence="with NLTK, by permission",
        citation="van der Beek, Bouma, Malouf & van Noord 2002, The Alpino Dependency Treebank",
        style="alpino",
        empty="nodes with an index and no word",
        trees=7_136,
        words=140_780,
    ),
)

BY_NAME = {corpus.name: corpus for corpus in CORPORA}


def known_corpus(spec: str) -> Corpus | None:
    """The corpus that a command line names; None for files, folders and names that are not in the table.

    >>> known_corpus("craft:CRAFT-5.0").name, known_corpus("nltk:alpino").style, known_corpus("a.mrg")
    ('craft', 'alpino', None)
    """
    name, colon, _ = spec.partition(":")
    return (BY_NAME.get(spec) or BY_NAME.get(name)) if colon else None


def corpus_path(spec: str) -> str:
    """The path in the name of a corpus; another name is the path itself.

    >>> corpus_path("craft:CRAFT-5.0"), corpus_path("a.mrg")
    ('CRAFT-5.0', 'a.mrg')
    """
    corpus = known_corpus(spec)
    return spec.partition(":")[2] if corpus is not None and corpus.takes_path else spec
