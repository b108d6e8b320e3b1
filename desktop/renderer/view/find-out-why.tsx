import type { JSX } from 'preact';
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
        aria-label={of === undefined ? undefined : `Find out why: ${of.slug}`}
        onClick={() => void action.run('checkup:start', { key: of?.key })}
      >
        Find out why
      </button>
      <Failure problem={action.error} />
    </>
  );
}
