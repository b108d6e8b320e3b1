import type { JSX } from 'preact';
import { t } from '../../i18n/translate.ts';
import { Failure } from './parts.tsx';
import { useAction } from './use-action.ts';

/** Has the way to the relay and back checked. @param of the tunnel that fails; none for the relay alone */
export function FindOutWhy({ of }: { of?: { readonly key: string; readonly slug: string } }): JSX.Element {
  const action = useAction();
  return (
    <>
      <button
        type="button"
        class="button small"
        aria-label={of === undefined ? undefined : t('common.findOutWhyOf', { slug: of.slug })}
        onClick={() => void action.run('checkup:start', { key: of?.key })}
      >
        {t('common.findOutWhy')}
      </button>
      <Failure problem={action.error} />
    </>
  );
}
