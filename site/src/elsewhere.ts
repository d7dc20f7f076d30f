/** Links to other programs on the web that read the public repository; there are none until it has an address. */
import { element } from "./elements";

/** OWNER/NAME of a repository on GitHub; null for another or no address. */
const onGithub = (address: string): string | null => /^https:\/\/github\.com\/([\w.-]+\/[\w.-]+?)\/?$/.exec(address)?.[1] ?? null;

/** A model of models/ in MuJoCo's own page. */
export function liveModel(address: string, file: string): string | null {
  const name = onGithub(address);
  return name && `https://live.mujoco.org/?model=github:${name}/models/${file}`;
}

/** An exercise as a notebook in Colab. */
export function notebook(address: string, exercise: string): string | null {
  const name = onGithub(address);
  return name && `https://colab.research.google.com/github/${name}/blob/main/exercises/${exercise}.ipynb`;
}

/** Show a link in a place of the page, or hide the place. */
export function show(place: HTMLElement, address: string | null, text: string): void {
  place.hidden = address === null;
  place.replaceChildren(...(address ? [element("a", { href: address, rel: "noopener noreferrer" }, text)] : []));
}
