/** A film as an SVG that moves by CSS alone, so that it also plays where pictures may not run scripts. */

/** What a frame shows, each as a part of an SVG, from back to front. */
export interface Frame {
  /** s after the start */
  readonly at: number;
  readonly parts: readonly string[];
}

/** A colour in both themes. */
export interface Colour {
  readonly light: string;
  readonly dark: string;
}

/** Collects the rules that the parts of a film share. */
export class Film {
  readonly #seconds: number;
  readonly #colours = new Map<string, Colour>();
  readonly #times = new Map<string, string[]>();

  /** @param seconds until it starts again */
  constructor(seconds: number) {
    this.#seconds = seconds;
  }

  /** The rules for everything drawn so far. */
  get rules(): string {
    const colours = (theme: keyof Colour): string =>
      [...this.#colours.values()].map((colour, index) => `--c${index}:${colour[theme]}`).join(';');
    return [
      `svg{${colours('light')}}`,
      `@media (prefers-color-scheme:dark){svg{${colours('dark')}}}`,
      ...[...this.#times.values()].flat(),
      '@media (prefers-reduced-motion:reduce){g{animation:none!important}}',
    ].join('\n');
  }

  /** @returns a value for `fill` and `stroke` */
  colour({ light, dark }: Colour): string {
    const key = `${light} ${dark}`;
    const index = this.#colours.has(key) ? [...this.#colours.keys()].indexOf(key) : this.#colours.size;
    this.#colours.set(key, { light, dark });
    return `var(--c${index})`;
  }

  /** Draws frames that replace each other. What several of them show is drawn once, if what it covers allows that. */
  draw(frames: readonly Frame[]): string {
    const drawn: { part: string; from: number; to: number }[] = [];
    frames.forEach(({ at, parts }, index) => {
      const to = frames[index + 1]?.at ?? this.#seconds;
      let next = 0;
      for (const part of parts) {
        const same = drawn.findIndex((each, place) => place >= next && each.part === part && each.to === at);
        const kept = drawn[same];
        if (kept === undefined) drawn.splice(next, 0, { part, from: at, to });
        else kept.to = to;
        next = kept === undefined ? next + 1 : same + 1;
      }
    });
    const groups: { name: string; parts: string[] }[] = [];
    for (const { part, from, to } of drawn) {
      const name = this.#during(from, to);
      const last = groups.at(-1);
      if (last?.name === name) last.parts.push(part);
      else groups.push({ name, parts: [part] });
    }
    return groups
      .map(({ name, parts }) =>
        name === '' ? parts.join('\n') : `<g class="${name}">\n${parts.join('\n')}\n</g>`,
      )
      .join('\n');
  }

  /** @returns the class of what is visible from a time to another one; without motion, the end is visible */
  #during(from: number, to: number): string {
    if (from <= 0 && to >= this.#seconds) return '';
    const key = `${from} ${to}`;
    const name = `t${[...this.#times.keys(), key].indexOf(key)}`;
    const percent = (time: number): string => `${((time / this.#seconds) * 100).toFixed(2)}%`;
    const steps = [
      ...(from > 0 ? ['0%{visibility:hidden}'] : []),
      `${percent(from)}{visibility:visible}`,
      ...(to < this.#seconds ? [`${percent(to)}{visibility:hidden}`] : []),
    ].join('');
    const last = to < this.#seconds ? 'hidden' : 'visible';
    this.#times.set(key, [
      `@keyframes ${name}{${steps}}`,
      `.${name}{visibility:${last};animation:${name} ${this.#seconds}s step-end infinite}`,
    ]);
    return name;
  }
}
