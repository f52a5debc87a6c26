// The chart of the ledger.
import uPlot from 'uplot';
import type { Day } from './api';
import { size } from './ui';

export function draw(box: HTMLElement, days: Day[], span: number): () => void {
  const byDay = new Map(days.map((d) => [d.day, d]));
  const last = Date.parse(new Date().toISOString().slice(0, 10)) / 1000;
  const xs: number[] = [];
  for (let t = last - span * 86_400; t <= last + 86_400; t += 86_400) xs.push(t);
  const at = (f: (d: Day) => number) => xs.map((t) => { const d = byDay.get(new Date(t * 1000).toISOString().slice(0, 10)); return d ? f(d) : null; });
  let plot: uPlot | undefined;
  const render = () => {
    plot?.destroy();
    const css = getComputedStyle(box);
    const colour = (name: string) => { box.style.color = `var(${name})`; return getComputedStyle(box).color; };
    const dim = colour('--dim'), line = colour('--line'), strong = colour('--bar'), weak = colour('--fg');
    box.style.color = '';
    const axis = { stroke: dim, grid: { stroke: line, width: 1 }, ticks: { show: false }, font: '12px ' + css.fontFamily };
    const bars = uPlot.paths.bars!({ size: [0.7, 40] });
    plot = new uPlot({
      width: Math.max(200, box.clientWidth), height: 180, tzDate: (ts) => uPlot.tzDate(new Date(ts * 1000), 'UTC'), cursor: { show: false }, legend: { show: false },
      scales: { x: { time: true }, y: { range: (_u, _min, max) => [0, Math.max(max * 1.1, 1)] } },
      axes: [{ ...axis, grid: { show: false }, splits: (u) => xs.filter((_t, i) => i % Math.ceil((xs.length * 110) / u.width) === 0), values: (_u, v) => v.map((t) => new Date(t * 1000).toISOString().slice(5, 10)) }, { ...axis, size: 64, values: (_u, v) => v.map(size) }],
      series: [{}, { label: 'Kept out', fill: strong, stroke: strong, paths: bars, points: { show: false } }, { label: 'To the model', fill: weak, stroke: weak, paths: bars, points: { show: false } }],
    }, [xs, at((d) => d.bytes_kept + d.bytes_out), at((d) => d.bytes_out)], box);
  };
  render();
  const sized = new ResizeObserver(() => plot?.setSize({ width: Math.max(200, box.clientWidth), height: 180 }));
  sized.observe(box);
  const scheme = matchMedia('(prefers-color-scheme: dark)');
  scheme.addEventListener('change', render);
  return () => { sized.disconnect(); scheme.removeEventListener('change', render); plot?.destroy(); };
}
