import type { JSX } from 'preact';
import { useContext, useMemo, useRef, useState } from 'preact/hooks';
import { t } from '../../../i18n/translate.ts';
import type { MessageView } from '../../../shared/ipc.ts';
import { type BodyView, bodyView } from '../../model/body/body-view.ts';
import { shownWays, type Way } from '../../model/body/ways.ts';
import type { MessageKind } from '../../model/request-detail.ts';
import { bytesText } from '../../model/numbers.ts';
import { useShell, WrapContext } from '../../view/context.ts';
import { hasCommand, useKey } from '../../view/keys.ts';
import { FindBar } from './find-bar.tsx';
import { ShownBody } from './shown-body.tsx';
import { useFind } from './use-find.ts';
import { useText } from './use-text.ts';
import { keysText } from '../../view/shortcut.tsx';

/** A body, in the way of showing it that suits it best, with the others to choose from. */
export function Body({ of, message }: { of: MessageKind; message: MessageView }): JSX.Element {
  const view = useMemo(() => bodyView(message), [message]);
  return view === undefined ? <p class="hint">{t('body.none')}</p> : <SomeBody of={of} view={view} />;
}

function SomeBody({ of, view }: { of: MessageKind; view: BodyView }): JSX.Element {
  const { bridge } = useShell();
  const wraps = useContext(WrapContext);
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
    <div ref={section} class="body-view">
      <div class="body-bar">
        <span class="hint">{[bytesText(view.bytes.length), ...view.notes].join('. ')}</span>
        <span class="ways">
          {ways.length > 1 && (
            <span role="group" aria-label={t(`body.shownAs.${of}`)}>
              {ways.map((each) => (
                <button
                  key={each}
                  type="button"
                  class="link"
                  aria-pressed={each === way}
                  onClick={() => setChosen(each)}
                >
                  {t(`body.way.${each}`)}
                </button>
              ))}
            </span>
          )}
          {(way === 'pretty' || way === 'text') && (
            <button
              type="button"
              class="link"
              aria-pressed={wraps}
              onClick={() => void bridge.call('settings:change', { wrapsBodies: !wraps })}
            >
              {t('body.wrap')}
            </button>
          )}
          {searched !== undefined && (
            <button
              ref={findButton}
              type="button"
              class="link"
              aria-expanded={isFinding}
              title={t('body.findWithKey', { keys: keysText('Mod+F') })}
              onClick={() => (isFinding ? endFind() : find.setQuery(''))}
            >
              {t('body.find')}
            </button>
          )}
        </span>
      </div>
      {isFinding && <FindBar of={of} find={find} close={endFind} />}
      <ShownBody label={t(`body.of.${of}`)} view={view} way={read.way} text={read.text} find={find} />
    </div>
  );
}

/** Whether a key means this body: that of the message with the focus, or without one the last. */
function isMeant(section: HTMLElement | null): boolean {
  const focused = document.activeElement?.closest('.message')?.querySelector('.body-view');
  const meant = focused ?? [...document.querySelectorAll('.body-view')].at(-1);
  return section !== null && meant === section;
}
