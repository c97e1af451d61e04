"""Whether trees that were read look like a treebank: figures of a corpus, and what is strange in it."""

from __future__ import annotations

from dataclasses import dataclass, field

from mbrparse.treebank.tree import Tree

#: Fewer trees than this are nobody's corpus, and may look as they like.
ENOUGH = 100


@dataclass(slots=True)
class Sanity:
    """Counts over trees that still have all labels and unary productions, but no traces."""

    trees: int = 0
    words: int = 0
    single: int = 0
    constituents: int = 0
    unary: int = 0
    same: int = 0
    in_pairs: int = 0
    numbered: int = 0
    tag_types: set[str] = field(default_factory=set)
    word_types: set[str] = field(default_factory=set)

    def see(self, tree: Tree) -> None:
        """Count a tree."""
        self.trees += 1
        self.single += not tree.children
        self.numbered += not tree.label and any(child.label == "ID" for child in tree.children)
        for node in tree.preorder():
            children = node.children
            if children:
                self.constituents += 1
                self.unary += len(children) == 1
                if len(children) == 2 and all(
                    child.word is None and not child.children for child in children
                ):
                    self.in_pairs += 2
            else:
                word = node.label if node.word is None else node.word
                self.words += 1
                self.same += word == node.label
                self.tag_types.add(node.label)
                self.word_types.add(word)

    def figures(self) -> dict[str, str]:
        """The counts for people, by name."""
        return {
            "trees": f"{self.trees:,}",
            "words": f"{self.words:,}",
            "words a tree": f"{_share(self.words, self.trees):.1f}",
            "different words": f"{len(self.word_types):,}",
            "different tags": f"{len(self.tag_types):,}",
            "words that are their own tag": f"{100 * _share(self.same, self.words):.1f} %",
            "constituents with one child": f"{100 * _share(self.unary, self.constituents):.1f} %",
            "trees of one word": f"{100 * _share(self.single, self.trees):.1f} %",
        }

    def warnings(self) -> list[str]:
        """What no treebank looks like; empty for fewer than ``ENOUGH`` trees."""
        if self.numbered:
            return [
                "trees hold (ID ...): read the Penn-Helsinki style as penn-historical:PATH or icepahc:PATH"
            ]
        if self.trees < ENOUGH:
            return []
        found = []
        mean = _share(self.words, self.trees)
        if self.in_pairs > self.words / 2:
            found.append("most tags have two words below them: are leaves (tag word lemma)?")
        if not 2 <= mean <= 100:
            found.append(f"{mean:.1f} words a tree")
        if self.single > self.trees / 2:
            found.append(f"{self.single} of {self.trees} trees are single words")
        if len(self.tag_types) > len(self.word_types):
            found.append(
                f"{len(self.tag_types)} different tags, {len(self.word_types)} words: are they exchanged?"
            )
        if self.unary > 0.7 * self.constituents:
            found.append(f"{self.unary} of {self.constituents} constituents have one child")
        return found


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
