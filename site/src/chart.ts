/** A line chart of the pages with figures. */
import uPlot from "uplot";

export interface Line {
  label: string;
  colour: string;
  dash?: number[];
}

const GRID = { stroke: "#e3e8ee", width: 1 };

export class Chart {
  private readonly plot: uPlot;

  /** dots: draw points in place of lines. least: shown on both sides of zero at least. */
  constructor(private readonly place: HTMLElement, x: string, y: string, lines: Line[], { dots = false, least = 0 } = {}) {
    const axis = { stroke: "#3d4a58", grid: GRID, ticks: GRID, font: "13px system-ui", labelFont: "13px system-ui", labelSize: 24 };
    this.plot = new uPlot(
      {
        ...this.size(),
        scales: { x: { time: false }, y: least ? { range: (_, low, high) => [Math.min(low ?? 0, -least), Math.max(high ?? 0, least)] } : {} },
        axes: [{ ...axis, label: x }, { ...axis, label: y, size: 58 }],
        series: [{ label: x }, ...lines.map(({ label, colour, dash }) => ({ label, stroke: colour, width: dots ? 0 : 2.5, dash, points: { show: dots, size: 4, fill: colour } }))],
        legend: { live: false },
        cursor: { show: false },
      },
      [[], ...lines.map(() => [])],
      place,
    );
    new ResizeObserver(() => this.plot.setSize(this.size())).observe(place);
  }

  private size(): { width: number; height: number } {
    return { width: Math.max(this.place.clientWidth, 240), height: 290 };
  }

  show(rows: (number | null)[][]): void {
    this.plot.setData(rows as uPlot.AlignedData);
  }
}
