import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { MessageView } from '../../../../client/inspector/records.ts';
import { isSecretName } from '../../../../client/inspector/redaction.ts';
import { t } from '../../../messages/translate.ts';
import {
  type BodyKind,
  type BodyView,
  bodyView,
  type Form,
  type FormFile,
  hexDump,
  plainText,
  prettyInPieces,
  shownWays,
  type Way,
} from '../../model/body/body-view.ts';
import { findInJson, findInText, type Found, foundText, NOTHING_FOUND } from '../../model/body/find.ts';
import type { JsonDocument } from '../../model/body/json-document.ts';
import { bytesText } from '../../model/numbers.ts';
import { useShell, useWindow } from '../../view/context.ts';
import { keysText } from '../../view/controls.tsx';
import { hasCommand, useKey } from '../../view/keyboard.ts';
import { Button, IconButton, Table, Toggles } from '../../view/kit.tsx';
import { JsonTree } from './json-tree.tsx';
import { HtmlPreview, ImagePreview } from './previews.tsx';
import { TextView } from './text-view.tsx';

/** A body in its best view, with the other views to choose from. */
export function Body({ of, message }: { of: BodyKind; message: MessageView }): JSX.Element {
  const view = useMemo(() => bodyView(message), [message]);
  return view === undefined ? <p class="hint">{t('body.none')}</p> : <SomeBody of={of} view={view} />;
}

function SomeBody({ of, view }: { of: BodyKind; view: BodyView }): JSX.Element {
  const { bridge } = useShell();
  const wraps = useWindow().snapshot.settings.wrapsBodies;
  const [chosen, setChosen] = useState<Way>();
  const ways = useMemo(() => shownWays(view), [view]);
  const way = chosen !== undefined && ways.includes(chosen) ? chosen : (ways[0] ?? 'hex');
  const read = useText(view, way);
  const searched = read.way === 'json' ? view.json : read.text;
  const find = useFind(searched);
  const isFinding = find.query !== undefined && searched !== undefined;
  const section = useRef<HTMLDivElement>(null);
  const findButton = useRef<HTMLButtonElement>(null);
  useKey(
    (event) => hasCommand(event) && event.key === 'f' && searched !== undefined && isMeant(section.current),
    () => {
      find.setQuery(find.query ?? '');
      section.current?.querySelector<HTMLInputElement>('.find input')?.select();
    },
  );
  const endFind = (): void => {
    find.setQuery(undefined);
    findButton.current?.focus();
  };

  return (
    <div ref={section} class="body-view stack">
      <div class="body-bar line split">
        <span class="hint">{[bytesText(view.bytes.length), ...view.notes].join('. ')}</span>
        <span>
          {ways.length > 1 && (
            <Toggles
              label={t(`body.shownAs.${of}`)}
              choices={ways.map((each) => [each, t(`body.way.${each}`)])}
              value={way}
              choose={setChosen}
            />
          )}
          {(way === 'pretty' || way === 'text') && (
            <Button
              look="link"
              aria-pressed={wraps}
              act={() => bridge.call('settings:change', { wrapsBodies: !wraps })}
            >
              {t('body.wrap')}
            </Button>
          )}
          {searched !== undefined && (
            <Button
              ref={findButton}
              look="link"
              aria-expanded={isFinding}
              title={t('body.findWithKey', { keys: keysText('Mod+F') })}
              act={() => (isFinding ? endFind() : find.setQuery(''))}
            >
              {t('body.find')}
            </Button>
          )}
        </span>
      </div>
      {isFinding && <FindBar of={of} find={find} close={endFind} />}
      <ShownBody label={t(`body.of.${of}`)} view={view} way={read.way} text={read.text} find={find} />
    </div>
  );
}

/** Whether a key applies to this body: the one of the focused message, or else the first that is shown. */
function isMeant(section: HTMLElement | null): boolean {
  const focused = document.activeElement?.closest('.message')?.querySelector('.body-view');
  const meant =
    focused ?? [...document.querySelectorAll('.body-view')].find((view) => view.checkVisibility());
  return section !== null && meant === section;
}

/** A body in one of its views. */
function ShownBody({
  label,
  view,
  way,
  text,
  find,
}: {
  label: string;
  view: BodyView;
  way: Way;
  /** the readable text of the view; `undefined` for binary content */
  text: string | undefined;
  find: Find;
}): JSX.Element {
  const { found, current, query = '' } = find;
  if (way === 'json' && view.json !== undefined)
    return <JsonTree label={label} document={view.json} found={found} current={current} />;
  if (way === 'form' && view.form !== undefined) return <FormTable label={label} form={view.form} />;
  if (way === 'image' && view.image !== undefined)
    return <ImagePreview label={label} image={view.image} body={view.bytes} />;
  if (way === 'html' && view.html !== undefined) return <HtmlPreview label={label} html={view.html} />;
  return (
    <TextView
      label={label}
      text={text ?? ''}
      found={found}
      current={current}
      length={query.length}
      mayWrap={way !== 'hex'}
    />
  );
}

/** As long for every secret. */
const HIDDEN = '••••••••';

function hides({ name, value, file }: Form['parts'][number]): boolean {
  return file === undefined && (value ?? '') !== '' && isSecretName(name);
}

/** The fields and files of a form as a table. Passwords are shown on demand, because others may see the screen. */
function FormTable({ label, form }: { label: string; form: Form }): JSX.Element {
  const [isShown, setShown] = useState(false);
  return (
    <div role="region" aria-label={label}>
      <Table
        caption={t('body.form')}
        rows={form.parts.map((part) => [
          part.name,
          part.file !== undefined
            ? fileText(part.file)
            : hides(part) && !isShown
              ? HIDDEN
              : (part.value ?? ''),
        ])}
      />
      {form.parts.some(hides) && (
        <Button look="link" act={() => setShown(!isShown)}>
          {t(isShown ? 'body.hideSecrets' : 'body.showSecrets')}
        </Button>
      )}
      {form.isCut && <p class="hint">{t('body.notShown')}</p>}
    </div>
  );
}

function fileText({ name, type, size, isCut }: FormFile): string {
  const bytes = bytesText(size);
  return [
    name === '' ? t('body.fileWithoutName') : name,
    ...(type === '' ? [] : [type]),
    isCut ? t('body.moreThan', { bytes }) : bytes,
  ].join(', ');
}

/** ms of work per frame. */
const SLICE_MS = 10;

/** The readable text of a body, once it is available. */
interface ReadText {
  readonly way: Way;
  /** `undefined` if it is not text */
  readonly text: string | undefined;
}

/** The text of a body in a view. While a long one is formatted, returns the previous text. */
function useText(view: BodyView, way: Way): ReadText {
  const work = useMemo(() => new TextWork(view, way), [view, way]);
  const shown = useRef(work);
  const [, redraw] = useState(0);
  if (work.isDone || shown.current.view !== view) shown.current = work;
  useEffect(() => {
    if (work.isDone) return undefined;
    let frame: number;
    const advance = (): void => {
      // Shown in a separate frame.
      if (work.isDone) return redraw((count) => count + 1);
      work.advance();
      frame = requestAnimationFrame(advance);
    };
    frame = requestAnimationFrame(advance);
    return () => cancelAnimationFrame(frame);
  }, [work]);
  return shown.current;
}

/** Formats a text in slices; most texts need only one. */
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

/** Searches a body: Enter moves to the next match, Shift+Enter to the previous one, Escape closes the bar. */
function FindBar({ of, find, close }: { of: BodyKind; find: Find; close: () => void }): JSX.Element {
  const { query = '', setQuery, found, current, move } = find;
  const field = useRef<HTMLInputElement>(null);
  // A layout effect, so that text typed immediately after opening goes into the field.
  useLayoutEffect(() => field.current?.focus(), []);
  return (
    <div class="find line" role="search">
      <input
        ref={field}
        type="search"
        aria-label={t(`body.findIn.${of}`)}
        placeholder={t('body.findInThis')}
        value={query}
        onInput={(event) => setQuery(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter') move(event.shiftKey ? -1 : 1);
          else if (event.key === 'Escape') close();
          else return;
          event.preventDefault();
        }}
      />
      <span class="hint nowrap" role="status">
        {query !== '' && foundText(found, current)}
      </span>
      <IconButton
        icon="previous"
        name={t('body.previous')}
        title={t('body.previousWithKey')}
        act={() => move(-1)}
      />
      <IconButton icon="next" name={t('body.next')} title={t('body.nextWithKey')} act={() => move(1)} />
      <IconButton icon="close" name={t('body.closeFind')} title={t('body.closeWithKey')} act={close} />
    </div>
  );
}

interface Find {
  /** `undefined` while nothing is searched for */
  readonly query: string | undefined;
  readonly found: Found;
  /** index of the current match */
  readonly current: number;
  readonly setQuery: (query: string | undefined) => void;
  /** moves forward by that many matches, and wraps around */
  readonly move: (by: number) => void;
}

/** Searches the visible content of a body. */
function useFind(shown: JsonDocument | string | undefined): Find {
  const [query, setQuery] = useState<string>();
  const [current, setCurrent] = useState(0);
  const found = useMemo(() => {
    if (query === undefined || shown === undefined) return NOTHING_FOUND;
    return typeof shown === 'string' ? findInText(shown, query) : findInJson(shown, query);
  }, [shown, query]);
  // A layout effect, so that Enter immediately afterwards continues from the first match.
  useLayoutEffect(() => setCurrent(0), [found]);
  const count = found.at.length;
  return {
    query,
    found,
    current: Math.min(current, Math.max(0, count - 1)),
    setQuery,
    move(by) {
      if (count > 0) setCurrent((before) => (before + by + count) % count);
    },
  };
}
