"""The commands that make valid files, those that are tried on damaged ones, and values that options take."""

from __future__ import annotations

REPRODUCE = "reproduce trees.mrg --test-fraction 0.3 --label-map labels.map --hmarkov 1 -o reproduced"
#: What makes the files, in this order; each line is a command.
RECIPES = f"""
binarize trees.mrg -o bin.mrg
binarize trees.mrg --head-rules collins --subcat --annotate parent,head-tag -o head.mrg
binarize trees.mrg --unary keep -o unary.mrg
binarize trees.mrg --unary join -o join.mrg
binarize trees.mrg --unary join-tags -o joined.mrg
train bin.mrg --statistics bin.stat -o tags.txt
train bin.mrg --terminals words -o words.txt
train bin.mrg --terminals words --unknown collins --rare 2 -o collins.txt
train unary.mrg -o unary.txt
train head.mrg -o head.txt
train bin.mrg --method inside-outside --nonterminals 3 --iterations 2 -o io.txt
train bin.mrg --method dop -o dop.txt
train bin.mrg --method split-merge --terminals words --rare 2 --cycles 1 -o states.txt
train join.mrg --method dop --weights bonnema --max-depth 3 -o depth.txt
grammar convert tags.txt --to bitpar -o rules.bitpar --lexicon-output lexicon.bitpar
grammar convert words.txt --to nltk -o words.nltk
parse bin.mrg -g tags.txt --objective labelled-tree --details details.jsonl -o one.mrg
parse bin.mrg -g tags.txt --objective bracketed-recall --write-posteriors posteriors.npz -o two.mrg
parse bin.mrg -g tags.txt --k-best 4 --candidates candidates.tsv -o three.mrg
parse bin.mrg -g tags.txt --k-best 4 --candidates nary.tsv --debinarize -o four.mrg
parse bin.mrg -g tags.txt --objective labelled-recall --details out --shard 1/1
parse bin.mrg -g tags.txt --k-best 3 --candidates c --shard 1/2
parse bin.mrg -g tags.txt --k-best 3 --candidates c --shard 2/2
baseline bin.mrg --kind random -o random.mrg
debinarize one.mrg -o one.orig
debinarize bin.mrg -o gold.orig
{REPRODUCE}
grid trees.mrg --bundle a=hmarkov=0 --bundle b=hmarkov=1 --unary top,keep --folds 2 --resamples 20 -o grid
""".strip().splitlines()


def _weighed(text: str) -> list[tuple[int, str]]:
    """Lines of a number and a command."""
    return [(int(line.split()[0]), line.split(maxsplit=1)[1]) for line in text.strip().splitlines()]


#: Commands to try, and how often: a name of a file or folder of the seeds is the (mutated) file.
COMMANDS = _weighed("""
1 corpora corpus corpus.zip wsj
2 corpora corpus.zip icepahc --check
3 check trees.mrg corpus.zip icepahc:icepahc -o out
3 stats trees.mrg corpus.zip --on-error skip --top 3
2 stats icepahc:icepahc --leaves lemma --no-traces --table chains --format csv -o out
6 binarize trees.mrg -o out
4 binarize trees.mrg --head-rules heads.txt --on-error skip -o out
3 binarize trees.mrg --head-rules collins --subcat --annotate parent,head-tag -o out
3 binarize trees.mrg --label-map labels.map --functions after:- -o out
2 binarize trees.mrg --hmarkov 2 --vmarkov 2 --direction left -o out
4 binarize corpus.zip --on-error skip -o out
2 binarize corpus trees.mrg --on-error skip -o out
2 binarize wsj:wsj --sections 00-01 -o out
3 binarize icepahc:icepahc --leaves lemma -o out
3 binarize corpus.zip --drop NP,V* --roots S --encoding utf-8,latin-1 -o out
2 binarize trees.mrg --ids NP --terminals-below lemma=form -o out
2 binarize greynir:trees.mrg --drop X -o out
2 binarize trees.mrg --leaf (?P<word>.)(?P<tag>.*) --empty a.* --discontinuous refuse -o out
2 binarize trees.jsonl export:trees.export tiger:trees.xml --field tree --on-error skip -o out
1 stats columns:trees.conll --column 2 --on-error skip
2 search NP<NN trees.mrg --also S --count --svg out.svg --on-error skip -o out
2 debinarize gold.orig --to json -o out
4 debinarize head.mrg -o out
2 debinarize join.mrg
3 debinarize foreign.mrg --continuation |<> --joiner :: -o out
3 split bin.mrg --test-fraction 0.3 --train-output out.train --test-output out.test
2 split bin.mrg --test-fraction 0.3 --dev-fraction 0.2 --seed 1 --dev-output out.dev --train-output out
2 split bin.mrg --fold 1/3 --train-size 0.5 --seed 1 --train-output out.train --test-output out.test
4 train bin.mrg --statistics out.stat -o out
2 train bin.mrg --terminals words --unknown collins --rare 2 -o out
3 train trees.mrg --method inside-outside --nonterminals 2 --iterations 2 --curve out.csv -o out
6 train bin.mrg --method inside-outside --nonterminals 3 --iterations 3 --resume -o io.txt
3 train bin.mrg --method inside-outside --init tags.txt --iterations 1 --heldout two.mrg -o out
4 train join.mrg --method dop -o out
3 train unary.mrg --method split-merge --cycles 1 --merge 0.3 --smooth 0.1 --seed 2 -o out
3 train bin.mrg --method split-merge --terminals words --cycles 2 --rare 2 --resume -o states.txt
2 parse words.tokens -g states.txt --prune 1e-3 --objective max-rule-product -o out
4 grammar info tags.txt
3 grammar info unary.txt --entropy --lengths 20
3 grammar info states.txt --states NP --top 2 --format json
4 grammar convert collins.txt
6 grammar convert rules.bitpar --from bitpar --lexicon lexicon.bitpar -o out
6 grammar convert words.nltk --from nltk --terminals words -o out
3 grammar convert unary.txt --to bitpar -o out --lexicon-output out.lex
2 grammar convert dop.txt --to bitpar --lexicon-output out.lex -o out
4 grammar convert words.nltk --normalize -o out
4 surprisal tokens.txt -g tags.txt --format csv -o out
3 surprisal words.tokens -g words.txt --by tags --format json
3 surprisal words.tokens -g states.txt --tokenize --per word --spillover 1 --fold-case --no-end
1 surprisal -g words.txt --items items.csv --per region --plot out.svg -o out
3 surprisal tokens.txt -g tags.txt --analyses 3 --analyses-output out.csv -o out
2 surprisal bin.mrg -g unary.txt --analyses 2 --format json --per word --entropies
2 masked words.tokens -g words.txt --format csv --top 1
3 next bin.mrg -g unary.txt --top 2 --input trees
2 next words.tokens -g words.nltk --normalize -o out.npz
3 masked bin.mrg -g tags.txt --by tags -o out.npz
3 masked words.tokens -g words.txt --encoding latin-1
5 sample unary.txt -n 3 --seed 1 -o out
3 sample unary.txt -n 3 --seed 1 --conditioned DT --lengths 1-9 -o out
4 parse words.tokens -g words.nltk --normalize -o out
3 score bin.mrg -g words.nltk --normalize
8 parse tokens.txt -g tags.txt --details out.json -o out
6 parse bin.mrg -g tags.txt --objective labelled-tree --objective bracketed-recall -o out.{objective}
8 parse words.tokens -g words.txt -o out
3 parse words.tokens -g words.txt --tokenize -o out
6 parse bin.mrg -g unary.txt --objective labelled-tree --details out.json -o out
4 parse bin.mrg -g unary.txt --objective parent-child --space grammar -o out
4 parse bin.mrg -g unary.txt --objective max-rule-sum --objective max-rule-product -o out.{objective}
4 parse bin.mrg -g head.txt --objective productions --debinarize -o out
3 parse bin.mrg -g head.txt -g tags.txt --objective max-rule-product --mix 2,1 --details out.json -o out
2 parse tokens.txt -g unary.txt -g tags.txt --objective max-rule-sum --debinarize -o out
3 parse tokens.txt -g tags.txt --objective general-recall --weight labelled=2 --weight bracketed=-1 -o out
3 parse bin.mrg -g tags.txt --objective bracketed-f --exact --details out.json -o out
3 parse bin.mrg -g tags.txt --objective labelled-f --debinarize --details out.json -o out
4 parse bin.mrg -g unary.txt --objective consistent-brackets --details out.json -o out
4 parse bin.mrg -g unary.txt --objective consistent-brackets-tree --details out.json -o out
4 parse bin.mrg -g head.txt --objective most-probable-tree --objective bracketed-tree -o out.{objective}
4 parse bin.mrg -g unary.txt --k-best 5 --candidates out.tsv --debinarize -o out
2 parse tokens.txt -g tags.txt --objective bracketed-recall --labels none --fallback empty -o out
4 parse bin.mrg -g tags.txt --objective minimum-risk --risk labelled-f --k-best 4 --details out.json -o out
4 parse bin.mrg -g dop.txt --details out.json -o out
3 parse bin.mrg -g dop.txt --objective most-probable-tree --max-samples 20 --max-error 0.1 -o out
3 parse tokens.txt -g unary.txt --constrain --objective labelled-f --details out -o out2
2 parse bin.mrg -g words.txt --constrain --k-best 3 --candidates out -o out2
2 parse tokens.txt -g depth.txt --sampled-posteriors --max-samples 20 --prune 0.01 -o out
6 parse bin.mrg -g tags.txt --resume --details out.json -o out
3 parse tokens.txt -g tags.txt --shard 1/2
10 parse bin.mrg --posteriors posteriors.npz --details out.json -o out
4 parse bin.mrg --posteriors posteriors.npz --posteriors posteriors.npz --mix .7,.3 -o out
4 parse foreign.tokens --posteriors foreign.npz --continuation |<> --joiner :: --debinarize -o out
2 parse foreign.tokens --posteriors foreign.npz --label-style supar --null NP^x -o out
2 parse bin.mrg -g tags.txt --write-posteriors out.npz --label-style supar -o out
6 parse bin.mrg -g tags.txt --engine best-first --statistics bin.stat -o out
3 parse bin.mrg -g words.txt --engine best-first --merit prefix --until mass:0.9 -o out
1 --config options.toml parse tokens.txt -g tags.txt -o out.{objective}
4 --config options.toml evaluate bin.mrg one.mrg
2 --no-config binarize trees.mrg -o out
5 rerank --candidates candidates.tsv -g tags.txt --objective labelled-f --details out.jsonl -o out
3 rerank --candidates candidates.tsv --posteriors posteriors.npz --objective general-recall --form binarized
4 combine one.orig four.mrg gold.orig --details out.json -o out
3 combine one.orig four.mrg --objective general-recall --node-cost 0.5 --weights 2,1 -o out
3 combine one.orig four.mrg --weights-from gold.orig --dev one.orig --dev four.mrg --weights-by label -o out
4 combine --candidates nary.tsv -o out
5 score bin.mrg -g tags.txt -o out
3 score bin.mrg -g tags.txt --resume -o out
3 score bin.mrg --posteriors posteriors.npz
3 score bin.mrg -g collins.txt --items --consistent
3 score bin.mrg --jackknife 2 --terminals words --form binarized -o out
1 posteriors tokens.txt -g tags.txt --normalize --line 2 --svg out.svg
2 explain -g unary.txt --incremental --readings 3 --file bin.mrg -o out
2 explain -g tags.txt --normalize --file bin.mrg --objective productions --objective general-recall -o out
2 baseline bin.mrg --kind random --runs 2 -o out-{seed}
3 baseline bin.mrg --kind balanced --frequent-labels -o out
6 evaluate bin.mrg one.mrg two.mrg --resamples 20 --format json --per-sentence out.csv
4 evaluate bin.mrg one.mrg --by confusions --format json
3 evaluate bin.mrg one.mrg --by label --format csv
3 evaluate bin.mrg one.mrg --by length
3 evaluate bin.mrg one.mrg --by depth --format latex --columns f,gold
3 evaluate bin.mrg one.mrg --by width --format markdown
3 evaluate gold.orig one.orig --by attachment --form original
3 evaluate gold.orig one.orig --form original --all
4 evaluate bin.mrg one.mrg --details details.jsonl --calibration --format json
4 evaluate unary.mrg three.mrg --unaries --details details.jsonl --resamples 10
5 evaluate bin.mrg candidates.tsv --criterion bracketed-recall --resamples 10
2 evaluate bin.mrg --runs a=one.mrg,two.mrg --runs b=three.mrg,random.mrg --resamples 10 --significance
3 evaluate bin.mrg one.mrg two.mrg --criteria labelled-f,leaf-ancestor,tagging-accuracy --resamples 10
3 evaluate bin.mrg one.mrg two.mrg --baseline two --average sentence --resamples 9 --correction holm
4 evaluate gold.orig one.orig --profile spmrl
3 evaluate gold.orig one.orig --profile compound-pcfg --keep-punctuation
6 evaluate --evalb rules.prm gold.orig one.orig
3 evaluate --evalb rules.prm gold.orig one.orig two.mrg --format csv --resamples 10
2 report bin.mrg one.mrg two.mrg --resamples 10 --posteriors posteriors.npz -o out.html
2 report bin.mrg one.mrg --details details.jsonl --title T --about corpus=x --resamples 10 -o pages
2 report bin.mrg candidates.tsv --resamples 10 -o out.html
2 report gold.orig one.orig --profile spmrl --resamples 10 -o out.html
4 show bin.mrg one.mrg two.mrg --line 2 --svg out.svg
3 show bin.mrg one.mrg two.mrg --differing --latex out.tex
3 show --compare bin.mrg random.mrg --format csv --places bin.mrg
2 show --compare bin.mrg random.mrg --labels-only --count 2
2 show --compare bin.mrg unary.mrg --spans-only --debinarize --svg out.svg
2 posteriors foreign.tokens --posteriors foreign.npz --label-style supar
3 evaluate foreign.mrg foreign.mrg --form original --label-style supar --null S
2 report foreign.mrg foreign.mrg --form original --label-style supar -o out.html
2 cite reproduced --format latex -o out
2 verify reproduced/table.txt reproduced bin.mrg
1 cite criteria:x|gold:y=0|version:mbrparse-0.1.0 -o out
""")
#: The same for commands that take long: they start processes or draw; most of what they resume is there.
SLOW_COMMANDS = [
    *((2, line) for line in RECIPES if line.startswith(("grid", "reproduce"))),
    *_weighed("""
1 grammar info states.txt --states NP --format csv --svg out.svg --png out.png --pdf out.pdf
6 parse bin.mrg -g tags.txt --max-seconds 5 --details out.json -o out.{objective}
1 parse bin.mrg -g tags.txt --jobs 2 --log out.log -o out
1 posteriors bin.mrg -g depth.txt --prune 0.01 --threshold 0.1 --png out.png --pdf out.pdf
3 score bin.mrg -g tags.txt --resume --jobs 2 --log out.log -o out
"""),
]

#: Values that fit, of options whose type does not say them.
VALUES = {
    "--also": "NP NP=n @X NP<NN /^N/ ( S!<NP",
    "--about": "corpus=x split=a=b",
    "--annotate": "parent head-tag parent,head-tag",
    "--baseline": "one two",
    "--binarize": "hmarkov=0,1 subcat=on,off vmarkov=2 x=1 label-map=labels.map",
    "--columns": "labelled-f coverage,labelled-tree f,gold nonsense",
    "--continuation": "_Cont |<> |< @",
    "--conditioned": "DT NN the nonsense",
    "--dev-fraction": "0.2 0.5",
    "--criteria": "labelled-f leaf-ancestor labelled-tree,bracketed-f tagging-accuracy",
    "--criterion": "labelled-f bracketed-tree consistent-brackets-recall",
    "--drop": "NP CODE,X",
    "--empty": "a.* \\*.* (",
    "--evalb": "COLLINS.prm new.prm",
    "--field": "tree id x",
    "--functions": "strip keep after:-= before:+",
    "--fold": "1/2 2/2 3/2 1/1",
    "--head-rules": "collins heads.txt",
    "--heldout": "two.mrg",
    "--hmarkov": "0 1 2 inf",
    "--init": "io.txt",
    "--ids": "ID NP",
    "--joiner": "+ :: _",
    "--label": "S NP_Cont X",
    "--leaf": "(word) (?P<word>.+)/(?P<tag>.+) (?P<tag>.)",
    "--lengths": "5 2-4 4-2 1-1000",
    "--merit": "boundary-trigram beta stack prefix normalized-beta trigram left-boundary",
    "--null": "VP|<> S NULL",
    "--method": "counting dop counting,dop x",
    "--mix": ".5,.5 1,0 2,1",
    "--on-error": "stop skip stop,skip x",
    "--parse": "prune=0,0.1 space=nary max-length=3,30 k-best=1",
    "--prune": "0 0.01 0,1e-3 x",
    "--risk": "labelled-f bracketed-recall labelled-tree consistent-brackets-recall",
    "--root": "ROOT S X",
    "--roots": "S S,TOP",
    "--runs": "a=one.mrg,two.mrg b=one.mrg",
    "--sections": "00 00-01 23",
    "--shard": "1/1 1/2 2/3",
    "--start": "S NP X",
    "--terminals": "tags words tags,words x",
    "--terminals-below": "lemma=form lemma=",
    "--test-fraction": "0.2 0.5",
    "--title": "T <b>",
    "--train": "terminals=words rare=2,3 method=counting,dop 3 0.5",
    "--train-size": "0.5 1 2 1/3",
    "--unary": "top,keep join-tags x",
    "--vmarkov": "1 2 1,2 x",
    "--until": "first-parse exhausted mass:0.5",
    "--weights": "1 1,2 .5,.3,.2 1,1,1",
    "--weight": "labelled=1 labelled=0.5 bracketed=1 bracketed=-0.5",
}
#: Options that are tried with values that do not fit only.
WITHOUT_VALUES = {"--scheduler": "there is no network in which a scheduler could answer"}
