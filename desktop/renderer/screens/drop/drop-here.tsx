import type { JSX } from 'preact';
import { t } from '../../../i18n/translate.ts';
import { Icon } from '../../view/icons.tsx';

/** Over the window while something is dragged over it: what dropping it there does, for who sees where the pointer is. */
export function DropHere(): JSX.Element {
  return (
    <div class="drop-here" aria-hidden="true">
      <p>
        <Icon name="folder" /> {t('drop.here')}
      </p>
    </div>
  );
}
