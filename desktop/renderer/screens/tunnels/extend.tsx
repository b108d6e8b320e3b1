import type { JSX, TargetedEvent } from 'preact';
import { useState } from 'preact/hooks';
import { t } from '../../../i18n/translate.ts';
import type { TunnelView } from '../../../shared/snapshot.ts';
import { extendChoices, readLifetime } from '../../model/lifetime.ts';
import { useShell } from '../../view/context.ts';
import { useAction } from '../../view/use-action.ts';

/** More time for a tunnel: three lengths at one click, or any other. */
export function Extend({
  tunnel,
  maxTtl,
  onDone,
}: {
  tunnel: Pick<TunnelView, 'key' | 'slug' | 'expiresAt'>;
  /** seconds */
  maxTtl: number;
  onDone: () => void;
}): JSX.Element {
  const { say } = useShell();
  const action = useAction();
  const [custom, setCustom] = useState('');
  const [problem, setProblem] = useState<string>();
  const noteId = `extend-note-${tunnel.key}`;

  const extend = async (ttl: string, words: string): Promise<void> => {
    setProblem(undefined);
    const answer = await action.run('tunnel:extend', { key: tunnel.key, ttl });
    if (!answer.ok) return;
    say(t('tunnels.extended', { slug: tunnel.slug, words }));
    setCustom('');
    onDone();
  };
  const submit = async (event: TargetedEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    const read = readLifetime(custom, maxTtl);
    if ('problem' in read) setProblem(read.problem);
    else await extend(read.ttl, custom.trim());
  };
  const text = problem ?? action.error?.text;

  return (
    <form
      class="extend"
      aria-label={t('tunnels.extendOf', { slug: tunnel.slug })}
      noValidate
      onSubmit={(event) => void submit(event)}
    >
      <span class="extend-choices">
        {extendChoices(tunnel.expiresAt, maxTtl, Date.now()).map(({ ttl, label }) => (
          <button key={ttl} type="button" class="button small" onClick={() => void extend(ttl, label)}>
            +{label}
          </button>
        ))}
      </span>
      <input
        class="small"
        aria-label={t('tunnels.anotherTime')}
        aria-describedby={noteId}
        aria-invalid={text === undefined ? undefined : 'true'}
        placeholder={t('tunnels.timeExample')}
        value={custom}
        onInput={(event) => setCustom(event.currentTarget.value)}
      />
      <button type="submit" class="button small">
        {t('tunnels.addTime')}
      </button>
      <span id={noteId} class="problem" role="alert">
        {text}
      </span>
    </form>
  );
}
