import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { type BodyView, plainText, prettyInPieces } from '../../model/body/body-view.ts';
import { hexDump } from '../../model/body/hex-dump.ts';
import type { Way } from '../../model/body/ways.ts';

/** ms of work in a frame. */
const SLICE_MS = 10;

/** What there is to be read of a body, once it is there. */
export interface ReadText {
  readonly way: Way;
  /** `undefined` for what is not text */
  readonly text: string | undefined;
}

/** The text of a way of showing a body. While a long one is laid out, it is the one that was there before. */
export function useText(view: BodyView, way: Way): ReadText {
  const work = useMemo(() => new TextWork(view, way), [view, way]);
  const shown = useRef(work);
  const [, redraw] = useState(0);
  if (work.isDone || shown.current.view !== view) shown.current = work;
  useEffect(() => {
    if (work.isDone) return undefined;
    let frame: number;
    const advance = (): void => {
      // Shown in a frame of its own.
      if (work.isDone) return redraw((count) => count + 1);
      work.advance();
      frame = requestAnimationFrame(advance);
    };
    frame = requestAnimationFrame(advance);
    return () => cancelAnimationFrame(frame);
  }, [work]);
  return shown.current;
}

/** Writes a text, a slice at a time; most are there after the first. */
class TextWork implements ReadText {
  readonly view: BodyView;
  readonly way: Way;
  text: string | undefined;
  isDone = false;
  readonly #pieces: Generator<void, string | undefined>;

  constructor(view: BodyView, way: Way) {
    this.view = view;
    this.way = way;
    this.#pieces = textInPieces(view, way);
    this.advance();
  }

  advance(): void {
    const end = performance.now() + SLICE_MS;
    while (!this.isDone && performance.now() < end) {
      const { done, value } = this.#pieces.next();
      if (done !== true) continue;
      this.isDone = true;
      this.text = value;
    }
  }
}

function* textInPieces(view: BodyView, way: Way): Generator<void, string | undefined> {
  if (way === 'hex') return hexDump(view.bytes);
  if (way === 'pretty') return yield* prettyInPieces(view);
  return way === 'text' ? plainText(view) : undefined;
}
