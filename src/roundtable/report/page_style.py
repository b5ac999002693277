"""The looks of the HTML page: inline, so that the file is whole by itself."""

STYLE = """
:root {
  color-scheme: light dark;
  --paper: #fbfaf8; --card: #fff; --ink: #1d1d1f; --soft: #63636b; --line: #e2e0dc; --warn: #8a4b00; --warn-bg: #fff3df;
  --s0: #0b7285; --s1: #9c36b5; --s2: #2b8a3e; --s3: #c92a2a;
  --s4: #1864ab; --s5: #a05a00; --s6: #5f3dc4; --s7: #495057;
  --c0: #0072b2; --c1: #d55e00; --c2: #009e73; --c3: #b04a86; --c4: #8a6d00; --c5: #4a4a55;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #16171a; --card: #1f2125; --ink: #e8e6e3; --soft: #a0a0a8; --line: #34363c;
    --warn: #ffc078; --warn-bg: #3a2a12;
    --s0: #66d9e8; --s1: #e599f7; --s2: #8ce99a; --s3: #ffa8a8;
    --s4: #74c0fc; --s5: #ffc078; --s6: #b197fc; --s7: #ced4da;
    --c0: #56b4e9; --c1: #ff9a5c; --c2: #3fd0a0; --c3: #e8a8cc; --c4: #f0e442; --c5: #c8c8d0;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 1.5rem 1rem 4rem; max-width: 50rem; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; -webkit-text-size-adjust: 100%;
}
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 .5rem; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 2.2rem 0 .6rem; }
h3 { font-size: 1rem; margin: 1.2rem 0 .4rem; }
p { margin: .4rem 0; overflow-wrap: anywhere; }
li { overflow-wrap: anywhere; }
.soft { color: var(--soft); font-size: .875rem; }
.words { white-space: pre-wrap; overflow-wrap: anywhere; margin: .5rem 0 0; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: .6rem; padding: .9rem 1.1rem;
  margin: .7rem 0; }
.seat { border-left: .3rem solid var(--seat, var(--line)); }
.seat > header, .who { color: var(--seat); font-weight: 600; }
.seat > header .soft { font-weight: 400; margin-left: .4rem; }
.s0 { --seat: var(--s0); } .s1 { --seat: var(--s1); } .s2 { --seat: var(--s2); } .s3 { --seat: var(--s3); }
.s4 { --seat: var(--s4); } .s5 { --seat: var(--s5); } .s6 { --seat: var(--s6); } .s7 { --seat: var(--s7); }
.absent { border-style: dashed; border-left-style: solid; }
.tag {
  display: inline-block; border: 1px solid currentColor; border-radius: 1rem; padding: 0 .6rem; font-size: .8rem;
  font-weight: 600;
}
.position { font-size: 1.2rem; font-weight: 600; margin: .6rem 0; }
.degraded { background: var(--warn-bg); color: var(--warn); border-color: currentColor; }
.degraded ul { margin: .4rem 0 0; padding-left: 1.2rem; }
.note { border-style: dotted; }
details > summary { cursor: pointer; font-weight: 600; padding: .3rem 0; overflow-wrap: anywhere; }
details > summary .soft { font-weight: 400; }
.scroll { overflow-x: auto; }
.diff { overflow-x: auto; font-size: .85rem; margin: .5rem 0 0; }
.diff del, .diff ins { text-decoration: none; } .diff del { color: var(--c1); } .diff ins { color: var(--c2); }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { text-align: left; padding: .35rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; }
th { color: var(--soft); font-weight: 500; }
td.n, th.n { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
tr.won td, tr.sum td { font-weight: 600; }
tr.sum td { border-bottom: 0; }
.map { margin: .7rem 0; padding: .4rem .6rem .9rem; }
.map svg { display: block; width: 100%; height: auto; max-height: 27rem; }
.map text { fill: var(--ink); font-size: 17px; text-anchor: middle; paint-order: stroke; stroke: var(--card);
  stroke-width: 5px; stroke-linejoin: round; }
.map .left { text-anchor: end; } .map .right { text-anchor: start; }
.map .board { fill: var(--paper); stroke: var(--line); stroke-width: 1.5; }
.map .apart { stroke: var(--soft); stroke-width: 1; stroke-dasharray: 2 6; opacity: .7; }
.map .together { stroke: var(--camp); stroke-width: 4; opacity: .85; }
.map .node { fill: var(--card); stroke: var(--camp, var(--soft)); stroke-width: 3.5; }
.map .node.unheard { stroke-width: 1.5; stroke-dasharray: 4 4; }
.map .ring { fill: none; stroke: var(--camp); stroke-width: 1.5; stroke-dasharray: 5 4; }
.map .mark { font-weight: 700; font-size: 17px; }
.map ul { list-style: none; margin: .5rem 0 0; padding: 0; }
.map li { margin: .25rem 0; overflow-wrap: anywhere; }
.map li b { display: inline-block; min-width: 1.7rem; padding: 0 .35rem; margin-right: .4rem; text-align: center;
  border: 2px solid var(--camp); border-radius: 1rem; }
.c0 { --camp: var(--c0); } .c1 { --camp: var(--c1); } .c2 { --camp: var(--c2); } .c3 { --camp: var(--c3); }
.c4 { --camp: var(--c4); } .c5 { --camp: var(--c5); }
@media print { body { max-width: none; } .card { break-inside: avoid; } }
""".strip()
