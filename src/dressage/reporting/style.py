"""How the page looks. The palette is Okabe and Ito's (2008), told apart with any colour vision;
on a dark ground its dark tones are lightened."""

from __future__ import annotations

PALETTE_LIGHT = [
    "#0072b2", "#d55e00", "#009e73", "#b1589a", "#e69f00", "#56b4e9", "#6b5b2e", "#5b6470",
]  # fmt: skip
PALETTE_DARK = [
    "#4aa8e0", "#f08a3c", "#2fc295", "#d98cc0", "#f0b93a", "#8fd0f5", "#b8a56a", "#9aa5b1",
]  # fmt: skip


def _colors(palette: list[str]) -> str:
    return "".join(f"--c{i}:{tone};" for i, tone in enumerate(palette))


_LIGHT = (
    "--ground:#f6f7f8;--card:#fff;--ink:#1b1f24;--soft:#59616c;--edge:#e2e4e8;--grid:#ebedf0;"
    "--good:#0a7d5a;--good-tint:#e3f4ee;--warn:#9a5b00;--warn-tint:#fdf1dc;--bad:#b3261e;"
    "--bad-tint:#fce8e6;--link:#0a5fa0;--tip:#1b1f24;--tip-ink:#fff;" + _colors(PALETTE_LIGHT)
)
_DARK = (
    "--ground:#0f1114;--card:#171a1f;--ink:#e8eaed;--soft:#9aa3ae;--edge:#2b3038;--grid:#262b32;"
    "--good:#5fd3a8;--good-tint:#12322a;--warn:#f0b95a;--warn-tint:#38290f;--bad:#ff8f86;"
    "--bad-tint:#3d1a18;--link:#6db8f0;--tip:#e8eaed;--tip-ink:#14171a;" + _colors(PALETTE_DARK)
)

STYLE = (
    f":root{{color-scheme:light dark;{_LIGHT}}}"
    f"@media(prefers-color-scheme:dark){{:root{{{_DARK}}}}}"
    + "".join(f".c{i}{{--c:var(--c{i})}}" for i in range(8))
    + """
.cx{--c:var(--soft)}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;scroll-behavior:smooth;scroll-padding-top:3.4rem}
body{margin:0;background:var(--ground);color:var(--ink);overflow-wrap:anywhere;
 font:15px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif}
main,header>div,nav>div{max-width:1120px;margin:0 auto;padding:0 24px}
header{padding:36px 0 22px}
.over{color:var(--soft);font-size:13px;letter-spacing:.02em;margin:0 0 4px}
h1{font-size:30px;line-height:1.2;letter-spacing:-.015em;margin:0 0 8px;font-weight:680}
.id{color:var(--soft);font:13px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;margin:0}
.chip{display:inline-block;font-size:12px;font-weight:600;line-height:1;padding:5px 9px;
 border-radius:99px;vertical-align:middle;background:var(--edge);color:var(--ink)}
h1 .chip{margin-left:4px;letter-spacing:0;position:relative;top:-3px}
.chip.good{background:var(--good-tint);color:var(--good)}
.chip.warn{background:var(--warn-tint);color:var(--warn)}
.chip.bad{background:var(--bad-tint);color:var(--bad)}
nav{position:sticky;top:0;z-index:5;background:var(--ground);border-bottom:1px solid var(--edge)}
nav>div{display:flex;gap:22px;overflow-x:auto;white-space:nowrap;scrollbar-width:none}
nav a{color:var(--soft);text-decoration:none;font-size:13.5px;padding:11px 0}
nav a:hover,nav a:focus-visible{color:var(--ink)}
section{padding:34px 0 6px}
h2{font-size:21px;letter-spacing:-.01em;margin:0 0 16px;font-weight:660}
h2 span{color:var(--soft);font-weight:400;margin-right:10px}
h3{font-size:15px;margin:30px 0 12px;font-weight:640}
p{margin:0 0 12px;max-width:74ch}
.quiet{color:var(--soft);font-size:13.5px;max-width:100ch}
code{font:.9em ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;background:var(--grid);
 border-radius:4px;padding:.1em .35em}
ul{padding-left:1.15em;margin:0 0 12px;max-width:80ch}
li{margin:0 0 8px}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(180px,1fr));gap:12px;
 margin:0 0 18px}
.tile,.chart,.table{background:var(--card);border:1px solid var(--edge);border-radius:10px}
.tile{padding:14px 16px}
.tile dt{color:var(--soft);font-size:13px}
.tile dd{margin:0}
.tile .value{font-size:25px;line-height:1.25;font-weight:640;letter-spacing:-.015em;
 font-variant-numeric:tabular-nums}
.tile .detail{color:var(--soft);font-size:12.5px;line-height:1.4}
.table{overflow-x:auto;margin:0 0 16px}
table{border-collapse:collapse;width:100%;font-size:13.5px;font-variant-numeric:tabular-nums}
th,td{text-align:left;padding:7px 14px;vertical-align:top}
td{border-top:1px solid var(--edge)}
th{color:var(--soft);font-weight:500;font-size:12.5px;white-space:nowrap}
td:first-child{overflow-wrap:normal}
.num{text-align:right;white-space:nowrap}
table.pairs td:first-child{color:var(--soft);width:15rem}
table.pairs tr:first-child td{border-top:0}
table.keys td:not(:first-child){white-space:nowrap}
table.keys th,table.keys td{padding-left:9px;padding-right:9px}
table.keys th:first-child,table.keys td:first-child{padding-left:14px}
svg.spark{width:96px;height:20px;display:block}
svg.spark polyline{fill:none;stroke:var(--c);stroke-width:1.5;vector-effect:non-scaling-stroke;
 stroke-linejoin:round}
details{margin:0 0 16px}
summary{cursor:pointer;color:var(--link);font-size:13.5px;padding:4px 0;margin-bottom:6px}
.grid2{display:grid;grid-template-columns:repeat(2,minmax(0,1fr));column-gap:14px}
.grid2>.chart{display:grid;grid-row:span 4;grid-template-rows:subgrid;row-gap:0;margin-bottom:14px}
.grid2>.chart:last-child:nth-child(odd){grid-column:1/-1}
section>.chart{margin-bottom:18px}
.chart{margin:0;padding:14px 16px 12px;min-width:0;position:relative}
.wide{grid-column:1/-1}
.chart h4{font-size:13.5px;font-weight:620;margin:0;display:inline}
.chart .unit{color:var(--soft);font-size:12.5px;margin-left:6px}
.legend{display:flex;flex-wrap:wrap;gap:2px 4px;margin:4px 0 0 -6px}
.legend button,.legend span{display:inline-flex;align-items:center;gap:6px;font:inherit;
 font-size:12.5px;color:var(--soft);background:none;border:0;border-radius:5px;padding:1px 6px}
.legend button{cursor:pointer}
.legend button:hover{color:var(--ink)}
.legend i{width:9px;height:9px;border-radius:50%;background:var(--c);flex:none}
.legend i.hair{height:2px;width:14px;border-radius:0;opacity:.5}
.legend i.k0{opacity:.35}
.legend [aria-pressed=false]{opacity:.45;text-decoration:line-through}
.plot{position:relative;height:168px;margin:10px 4px 38px 44px;touch-action:pan-y}
.wide .plot{height:300px}
.plot svg{position:absolute;inset:0;width:100%;height:100%;overflow:hidden;display:block}
.plot .y,.plot .x,.plot .tag{position:absolute;color:var(--soft);font-size:11.5px;line-height:1;
 white-space:nowrap;font-variant-numeric:tabular-nums}
.plot .y{right:100%;margin-right:8px;transform:translateY(50%)}
.plot .x{top:100%;margin-top:8px;transform:translateX(-50%)}
.plot .tag{left:6px;margin-bottom:5px}
.plot .axis{right:0;margin-top:23px;transform:none}
svg path{fill:none;stroke:var(--c);vector-effect:non-scaling-stroke}
svg .grid{stroke:var(--grid);stroke-width:1}
svg .line,svg .points{stroke-width:1.75;stroke-linejoin:round;stroke-linecap:round}
svg .thin{stroke-width:1;opacity:.4}
svg .dashed{stroke-width:1.25;stroke-dasharray:5 4}
svg .dots{stroke-width:7;stroke-linecap:round}
svg .few{stroke-width:5}
svg .cloud{stroke-width:3.5;stroke-linecap:round;opacity:.36}
svg .error{stroke-width:1.5;opacity:.65}
svg .band{fill:var(--c);stroke:none;opacity:.17}
svg .layer{fill:var(--c);stroke:var(--card);stroke-width:.75;opacity:.85}
svg .bar{fill:var(--c);opacity:.85}
svg .b0{opacity:.32}
svg .healthy{fill:var(--good);opacity:.09}
svg .level{stroke:var(--soft);stroke-dasharray:6 4}
svg .mark{stroke:var(--soft);stroke-dasharray:2 3}
.off{display:none!important}
.chart figcaption{color:var(--soft);font-size:12.5px;line-height:1.45}
.chart figcaption p{margin:0 0 3px;max-width:none}
.chart figcaption b{font-weight:600;color:var(--good)}
.chart:focus-visible{outline:2px solid var(--link);outline-offset:2px}
.cross{position:absolute;top:0;bottom:0;width:0;border-left:1px solid var(--soft);opacity:.6;
 pointer-events:none;display:none}
.frame{position:absolute;top:0;bottom:0;background:var(--c0);opacity:.15;pointer-events:none}
.plot{cursor:crosshair}
.back{position:absolute;top:10px;right:12px;font:inherit;font-size:12px;color:var(--link);
 background:var(--card);border:1px solid var(--edge);border-radius:6px;padding:2px 9px;
 cursor:pointer}
.spot{position:absolute;width:9px;height:9px;margin:-4.5px;border-radius:50%;background:var(--c);
 border:2px solid var(--card);pointer-events:none}
.tip{position:absolute;z-index:4;top:4px;background:var(--tip);color:var(--tip-ink);
 border-radius:7px;padding:6px 9px;font-size:12px;line-height:1.45;pointer-events:none;
 white-space:nowrap;display:none;font-variant-numeric:tabular-nums}
.tip div{display:flex;gap:7px;align-items:center}
.tip i{width:8px;height:8px;border-radius:50%;background:var(--c)}
.tip b{font-weight:600;margin-left:auto;padding-left:10px}
footer{color:var(--soft);font-size:13px;padding:26px 0 48px}
@media(max-width:760px){
 main,header>div,nav>div{padding:0 14px}
 header{padding:22px 0 14px}h1{font-size:24px}
 .grid2{grid-template-columns:minmax(0,1fr)}
 .tiles{grid-template-columns:repeat(2,minmax(0,1fr));gap:8px}
 .tile{padding:10px 12px}.tile .value{font-size:21px}
 .wide .plot{height:220px}th,td{padding:6px 10px}
 table.pairs td:first-child{width:8.5rem}
 .wide .xs .x:nth-child(even){display:none}
}
@media print{
 :root{"""
    + _LIGHT
    + """--ground:#fff}
 body{font-size:11pt;-webkit-print-color-adjust:exact;print-color-adjust:exact}
 nav,.cross,.tip{display:none!important}section{padding:16px 0 0}
 .chart,.tile,tr{break-inside:avoid}h2,h3{break-after:avoid}
 details>*{display:block}
}
"""
)
