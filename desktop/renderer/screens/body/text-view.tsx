import type { JSX } from 'preact';
import { useContext, useMemo, useRef, useState } from 'preact/hooks';
import { t } from '../../../i18n/translate.ts';
import type { Found } from '../../model/body/find.ts';
import { countText } from '../../model/numbers.ts';
import { WrapContext } from '../../view/context.ts';
import { useHighlights } from './use-highlights.ts';

/** Characters that are laid out without being asked for. */
const FIRST_CHARACTERS = 100_000;

/** A body as text. */
export function TextView({
  label,
  text,
  found,
  current,
  length,
  mayWrap,
}: {
  label: string;
  text: string;
  found: Found;
  /** which of them is looked at */
  current: number;
  /** characters of each */
  length: number;
  /** whether its lines mean anything when they are wrapped */
  mayWrap: boolean;
}): JSX.Element {
  const wraps = useContext(WrapContext) && mayWrap;
  const [shownWhole, setShownWhole] = useState<string>();
  const isBeyond = (found.at[current] ?? 0) + length > FIRST_CHARACTERS;
  const isWhole = shownWhole === text || isBeyond || text.length <= FIRST_CHARACTERS;
  const shown = useMemo(() => (isWhole ? text : text.slice(0, FIRST_CHARACTERS)), [text, isWhole]);
  const pre = useRef<HTMLPreElement>(null);
  useHighlights(pre, found.at, length, current, shown);
  return (
    <>
      {/* A region that scrolls must be reachable without a mouse. */}
      <pre
        ref={pre}
        class={`body mono ${wraps ? 'body-wraps' : ''}`}
        tabIndex={0}
        role="region"
        aria-label={label}
      >
        {shown}
      </pre>
      {!isWhole && (
        <button type="button" class="link" onClick={() => setShownWhole(text)}>
          {t('body.showAll', { count: countText(text.length) })}
        </button>
      )}
    </>
  );
}
