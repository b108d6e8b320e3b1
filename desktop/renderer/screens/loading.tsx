import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { t } from '../../i18n/translate.ts';
import { Mark } from '../view/icons.tsx';
import { Notice } from '../view/parts.tsx';

/** Waiting deserves words only after this long. */
const SLOW_MS = 3000;

/** Before the first snapshot: nearly nothing, because it is over in a moment. */
export function Loading({ problem }: { problem: string | undefined }): JSX.Element {
  const [isSlow, setSlow] = useState(false);
  useEffect(() => {
    const timer = window.setTimeout(() => setSlow(true), SLOW_MS);
    return () => window.clearTimeout(timer);
  }, []);
  return (
    <main class="screen centred">
      <Mark size={48} />
      <h1 class="unseen">Culvert</h1>
      {problem !== undefined && (
        <Notice kind="error" alert>
          {t('common.openAgain', { problem })}
        </Notice>
      )}
      {problem === undefined && isSlow && <p class="dim">{t('common.stillStarting')}</p>}
    </main>
  );
}
