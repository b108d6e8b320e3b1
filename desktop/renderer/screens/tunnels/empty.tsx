import type { JSX } from 'preact';
import { t } from '../../../i18n/translate.ts';
import type { PortView } from '../../../shared/snapshot.ts';
import { programName } from '../../model/ports.ts';
import { Mark } from '../../view/icons.tsx';
import { InPlace } from './in-place.tsx';

/** The list before the first tunnel: what to do, in two lines. */
export function Empty({ ports }: { ports: readonly PortView[] }): JSX.Element {
  const [likeliest] = ports;
  return (
    <div class="empty">
      <Mark size={72} />
      <h2>{t('tunnels.nothingExposed')}</h2>
      <p class="dim">
        {likeliest === undefined
          ? t('tunnels.startServer')
          : t('tunnels.isRunning', {
              program: programName(likeliest) ?? t('tunnels.aServer'),
              port: likeliest.port,
            })}
      </p>
      <InPlace />
    </div>
  );
}
