import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { About } from '../../ipc/ipc.ts';
import { t } from '../../messages/translate.ts';
import { useShell } from '../view/context.ts';
import { Failure } from '../view/controls.tsx';
import { Mark } from '../view/icons.tsx';
import { Screen } from '../view/screen.tsx';
import { useAction } from '../view/use-action.ts';

/** Describes this program and its components. */
export function AboutScreen(): JSX.Element {
  const { bridge } = useShell();
  const [about, setAbout] = useState<About>();
  const load = useAction();
  const { run } = load;
  useEffect(() => {
    const ask = async (): Promise<void> => {
      const answer = await run('app:about', undefined);
      if (answer.ok) setAbout(answer.value);
    };
    void ask();
  }, [run]);
  return (
    <Screen title={t('about.title')}>
      <Failure problem={load.error} />
      {about !== undefined && (
        <>
          <div class="welcome">
            <Mark size={44} />
            <p>
              <b dir="ltr">Culvert {about.version}</b>
            </p>
            <button
              type="button"
              class="link"
              onClick={() => void bridge.call('app:open-link', { link: 'source' })}
            >
              {t('about.source')}
            </button>
            <button
              type="button"
              class="link"
              onClick={() => void bridge.call('app:open-link', { link: 'releases' })}
            >
              {t('about.releases')}
            </button>
          </div>
          <Table
            title={t('about.versions')}
            rows={about.versions.map(({ name, version }) => [name, version])}
          />
          <Table
            title={t('about.licences')}
            rows={about.licences.map(({ name, licence }) => [name, licence])}
          />
        </>
      )}
    </Screen>
  );
}

function Table({
  title,
  rows,
}: {
  title: string;
  rows: readonly (readonly [string, string])[];
}): JSX.Element {
  return (
    <section class="group" aria-label={title}>
      <h2>{title}</h2>
      <dl class="pairs" translate={false}>
        {rows.flatMap(([name, value]) => [<dt key={`${name}-name`}>{name}</dt>, <dd key={name}>{value}</dd>])}
      </dl>
    </section>
  );
}
