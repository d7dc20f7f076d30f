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

/** A number with some decimals, a true minus sign and no negative zero. */
export const fixed = (value: number, digits: number): string => {
  const text = value.toFixed(digits);
  return (Number(text) === 0 ? text.replace("-", "") : text).replace("-", "\u2212");
};

/** Position of a joint for reading: degrees or millimetres. */
export const shownPosition = (value: number, unit: string): string =>
  unit === "rad" ? `${fixed((value * 180) / Math.PI, 1)}\u00b0` : `${fixed(value * 1000, 1)} mm`;

export const shownEffort = (value: number, unit: string): string =>
  unit === "rad" ? `${fixed(value, 3)}\u00a0N\u00a0m` : `${fixed(value, 2)}\u00a0N`;
