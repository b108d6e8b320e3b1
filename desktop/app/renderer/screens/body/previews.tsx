import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { t, type TextKey } from '../../../messages/translate.ts';
import { dataUrl, type ImageType, MOST_PIXELS } from '../../model/body/body-view.ts';
import { countText } from '../../model/numbers.ts';
import { useMedia } from '../../view/keyboard.ts';

/**
 * Previews a page in a frame: nothing in it runs, is loaded from anywhere, or links anywhere. Four barriers stop a
 * malicious sender: only harmless elements and attributes are copied (`fillWithHtml`), the frame's sandbox allows no
 * script, form or window, and the policies of the frame and of the window allow no network. The frame is same-origin,
 * so that the copy can be inserted.
 */
export function HtmlPreview({ label, html }: { label: string; html: string }): JSX.Element {
  const frame = useRef<HTMLIFrameElement>(null);
  useLayoutEffect(() => (frame.current === null ? undefined : fillWithHtml(frame.current, html)), [html]);
  return (
    <div class="preview stack s1" role="region" aria-label={label}>
      <iframe
        ref={frame}
        class="preview-frame"
        title={t('body.asPage', { label })}
        sandbox="allow-same-origin"
        tabIndex={0}
      />
      <p class="hint">{t('body.pageWithout')}</p>
    </div>
  );
}

const STILL = '(prefers-reduced-motion: reduce)';
const SVG = 'image/svg+xml';

type State = { kind: 'waiting' | 'broken' | 'large' } | { kind: 'shown'; width: number; height: number };

const WORDS = {
  waiting: 'body.picture.waiting',
  broken: 'body.picture.broken',
  large: 'body.picture.large',
} as const satisfies Record<string, TextKey>;

/** An image. Its size is known before it is decoded, so one that would fill the memory is not drawn. */
export function ImagePreview({
  label,
  image,
  body,
}: {
  label: string;
  image: ImageType;
  body: Uint8Array;
}): JSX.Element {
  const name = t('body.picture.name', { format: image.name });
  const source = useSource(image.type, body);
  const [state, setState] = useState<State>({ kind: 'waiting' });
  const onLoad = ({ naturalWidth: width, naturalHeight: height }: HTMLImageElement): void =>
    setState(width * height > MOST_PIXELS ? { kind: 'large' } : { kind: 'shown', width, height });
  // Users who prefer no motion see the first frame of an animation.
  const isStill = useMedia(STILL) && image.type !== SVG;
  const canvas = useRef<HTMLCanvasElement>(null);
  const picture = useRef<HTMLImageElement>(null);
  useEffect(() => {
    if (state.kind !== 'shown' || canvas.current === null || picture.current === null) return;
    canvas.current.width = state.width;
    canvas.current.height = state.height;
    canvas.current.getContext('2d')?.drawImage(picture.current, 0, 0);
  }, [state, isStill]);
  return (
    <div class="preview stack s1" role="region" aria-label={label}>
      {isStill && <canvas ref={canvas} role="img" aria-label={name} hidden={state.kind !== 'shown'} />}
      <img
        ref={picture}
        src={source}
        decoding="async"
        alt={name}
        hidden={isStill || state.kind !== 'shown'}
        onLoad={(event) => onLoad(event.currentTarget)}
        onError={() => setState({ kind: 'broken' })}
      />
      <p class="hint">
        {state.kind === 'shown'
          ? `${image.name}, ${countText(state.width)} × ${countText(state.height)}`
          : t(WORDS[state.kind])}
      </p>
    </div>
  );
}

/**
 * The URL of an image. An SVG image has one that cannot be opened as a page, because it could contain links. The others
 * have one of the browser's own: as text, 10 MB would block the window for a second.
 */
function useSource(type: string, body: Uint8Array): string | undefined {
  const [source, setSource] = useState<string>();
  useEffect(() => {
    const parts = [body as Uint8Array<ArrayBuffer>];
    const url = type === SVG ? dataUrl(type, body) : URL.createObjectURL(new Blob(parts, { type }));
    setSource(url);
    return () => URL.revokeObjectURL(url);
  }, [type, body]);
  return source;
}

/** Copies untrusted HTML so that only its appearance remains. */

/** The frame may load nothing. Images and styles are in the page itself. */
const PREVIEW_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'";
/** Maximum of copied elements; a larger page is cut. */
const MOST_ELEMENTS = 20_000;
/** How long copying may take at a time. The frame is then laid out again, which takes about as long. */
const TURN_MS = 10;

/** Purely visual elements. Other elements are replaced by their content, unless they are dropped. */
const COPIED = new Set(
  (
    'a abbr address article aside b bdi bdo big blockquote br button caption center cite code col colgroup dd del details dfn ' +
    'div dl dt em fieldset figcaption figure font footer h1 h2 h3 h4 h5 h6 header hgroup hr i img input ins kbd label legend li ' +
    'main mark menu meter nav ol optgroup option p pre progress q rp rt ruby s samp search section select small span strike ' +
    'strong sub summary sup table tbody td textarea tfoot th thead time tr tt u ul var wbr'
  ).split(' '),
);
/** Elements that are dropped with their content. */
const DROPPED = new Set(
  (
    'applet area audio base canvas dialog embed frame frameset iframe link map math meta object param portal script source svg ' +
    'template title track video'
  ).split(' '),
);
/** Attributes that load nothing, run nothing, link nowhere and do not affect the focus. */
const ATTRIBUTES = new Set(
  (
    'align alt bgcolor border cellpadding cellspacing checked class color cols colspan dir face height id lang max min open ' +
    'placeholder rows rowspan selected size span start title type valign value width'
  ).split(' '),
);
const CONTROLS = 'button, input, select, textarea';

const parsing = trustedTypes.createPolicy('inert-html', { createHTML: (text) => text });

/**
 * Inserts a copy of the HTML into an empty frame, a large one in several turns of the event loop.
 *
 * @returns stops it
 */
function fillWithHtml(frame: HTMLIFrameElement, html: string): (() => void) | undefined {
  const target = frame.contentDocument;
  if (target === null) return undefined;
  const policy = target.createElement('meta');
  policy.httpEquiv = 'Content-Security-Policy';
  policy.content = PREVIEW_POLICY;
  target.head.append(policy);
  // This document belongs to no window, so it loads and runs nothing.
  const source = new DOMParser().parseFromString(parsing.createHTML(withQuietStyles(html)), 'text/html');
  const sheets = [BASE, ...[...source.querySelectorAll('style')].map(({ textContent }) => textContent ?? '')];
  target.adoptedStyleSheets = sheets.map((text) => sheetOf(target, text));
  copyAttributes(source.body, target.body);
  // Disables clicks and focus.
  target.body.inert = true;
  const copier = new Copier(target);
  const turns = copier.copy(source.body, target.body);
  let timer: number | undefined;
  const takeTurn = (): void => {
    copier.turnEnds = performance.now() + TURN_MS;
    if (turns.next().done !== true) timer = window.setTimeout(takeTurn);
  };
  takeTurn();
  return () => window.clearTimeout(timer);
}

/** Stands for `style` in a parsed page. */
const STYLE = 'data-culvert-style';

/**
 * Renames the style attributes, because the window's policy forbids them, and reporting ten thousand of them would block
 * the window for seconds. The few that this misses are only reported. It also renames text in the values of attributes;
 * copyAttributes restores that.
 */
function withQuietStyles(html: string): string {
  return html.replace(/(<[a-z][^<>]*?\s)style(?=\s*=)/gi, `$1${STYLE}`);
}

const BASE = ':root { color-scheme: light; background: #fff; color: #000; }';

/** As an object, because the window's policy forbids style elements. */
function sheetOf(document: Document, text: string): CSSStyleSheet {
  const sheet = new (document.defaultView ?? window).CSSStyleSheet();
  sheet.replaceSync(text);
  return sheet;
}

class Copier {
  readonly #target: Document;
  #left = MOST_ELEMENTS;
  /** when to yield, as `performance.now()` */
  turnEnds = 0;

  constructor(target: Document) {
    this.#target = target;
  }

  /** Yields when its turn is over. Recursion is limited, because the parser nests at most 512 elements. */
  *copy(from: Element, into: Element): Generator<void, void> {
    for (const child of from.childNodes) {
      if (performance.now() > this.turnEnds) yield;
      if (child instanceof Text) into.append(this.#target.createTextNode(child.data));
      if (child instanceof HTMLElement && this.#left > 0) yield* this.#copyElement(child, into);
    }
  }

  *#copyElement(element: HTMLElement, into: Element): Generator<void, void> {
    const name = element.localName;
    if (DROPPED.has(name) || name === 'style') return;
    if (!COPIED.has(name)) return yield* this.copy(element, into);
    this.#left -= 1;
    const copied = this.#target.createElement(name);
    copyAttributes(element, copied);
    if (copied.matches(CONTROLS)) copied.setAttribute('disabled', '');
    into.append(copied);
    yield* this.copy(element, copied);
  }
}

function copyAttributes(from: HTMLElement, to: HTMLElement): void {
  for (const { name, value } of from.attributes) {
    if (ATTRIBUTES.has(name)) to.setAttribute(name, value.replaceAll(STYLE, 'style'));
    // Through the object model, for the same reason as style sheets.
    if (name === 'style' || name === STYLE) to.style.cssText = value;
  }
  const source = from.getAttribute('src') ?? '';
  if (from.localName === 'img' && /^data:image\//i.test(source)) to.setAttribute('src', source);
}
