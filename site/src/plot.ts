/** Efforts of one joint over the last seconds, by cause. */
import uPlot from "uplot";
import { CAUSES, type Efforts } from "./world";

const SPAN = 6; // [s]
const COLOURS = { motor: "#0b6e99", gravity: "#7a5195", friction: "#c2571a", push: "#c8324a" };

export class EffortPlot {
  private readonly plot: uPlot;
  private data: number[][] = [[], ...CAUSES.map(() => [])];

  constructor(private readonly place: HTMLElement) {
    const axis = { stroke: "#3d4a58", grid: { stroke: "#e3e8ee", width: 1 }, ticks: { stroke: "#e3e8ee" }, font: "12px system-ui" };
    this.plot = new uPlot(
      {
        ...this.size(),
        scales: { x: { time: false }, y: { range: (_, low, high) => padded(low, high) } },
        axes: [{ ...axis }, { ...axis, size: 56 }],
        series: [
          { label: "t [s]" },
          ...CAUSES.map((cause) => ({ label: cause, stroke: COLOURS[cause], width: 2, points: { show: false } })),
        ],
        legend: { live: false },
        cursor: { show: false },
      },
      this.data as uPlot.AlignedData,
      place,
    );
    new ResizeObserver(() => this.plot.setSize(this.size())).observe(place);
  }

  private size(): { width: number; height: number } {
    return { width: Math.max(this.place.clientWidth, 200), height: 180 };
  }

  clear(): void {
    this.data = [[], ...CAUSES.map(() => [])];
  }

  add(time: number, efforts: Efforts, joint: number): void {
    const [times] = this.data;
    if (times.length && time <= times[times.length - 1]) return;
    times.push(time);
    CAUSES.forEach((cause, k) => this.data[k + 1].push(efforts[cause][joint]));
    while (times[0] < time - SPAN) for (const row of this.data) row.shift();
    this.plot.setData(this.data as uPlot.AlignedData);
  }
}

/** A range that is never so small that noise fills it. */
function padded(low: number | null, high: number | null): [number, number] {
  const [a, b] = [Math.min(low ?? 0, 0), Math.max(high ?? 0, 0)];
  const margin = Math.max(0.1 * (b - a), 0.01);
  return [a - margin, b + margin];
}
