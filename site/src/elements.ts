/** Small builders of elements; texts are never read as HTML. */
type Properties<T> = Partial<Omit<T, "style">> & { class?: string };

export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  properties: Properties<HTMLElementTagNameMap[K]> = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const { class: className, ...rest } = properties;
  const made = document.createElement(tag);
  if (className) made.className = className;
  Object.assign(made, rest);
  made.append(...children);
  return made;
}

export function byId<T extends HTMLElement>(id: string): T {
  const part = document.getElementById(id);
  if (!part) throw new Error(`the page has no element ${id}`);
  return part as T;
}

/** Position of a joint for reading: degrees or millimetres. */
export const shownPosition = (value: number, unit: string): string =>
  unit === "rad" ? `${((value * 180) / Math.PI).toFixed(1)}\u00b0` : `${(value * 1000).toFixed(1)} mm`;

export const shownEffort = (value: number, unit: string): string =>
  `${value.toFixed(unit === "rad" ? 3 : 2).replace("-", "\u2212")} ${unit === "rad" ? "N\u00a0m" : "N"}`;
