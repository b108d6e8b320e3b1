import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { TunnelView } from '../../../shared/snapshot.ts';
import { plural } from '../../model/numbers.ts';
import { useShell } from '../../view/context.ts';
import { useKey } from '../../view/keys.ts';
import { Failure, Notice, Screen } from '../../view/parts.tsx';
import { useAction } from '../../view/use-action.ts';
import { RequestRow } from './request-row.tsx';
import { useLog } from './use-log.ts';

/** All recorded requests of one tunnel, newest first. */
export function LogScreen({
  tunnelKey,
  tunnels,
  search,
  setSearch,
}: {
  tunnelKey: string;
  tunnels: readonly TunnelView[];
  search: string;
  setSearch: (search: string) => void;
}): JSX.Element {
  const { say } = useShell();
  const tunnel = tunnels.find(({ key }) => key === tunnelKey);
  const searchInput = useRef<HTMLInputElement>(null);
  const log = useLog(tunnelKey, search, tunnel);
  const clear = useAction();
  useKey(
    (event) => event.key === '/' && !(event.target instanceof HTMLInputElement),
    () => searchInput.current?.focus(),
  );
  // How many were found is announced once the typing pauses, not for every request that comes in.
  const count = log.requests?.length ?? 0;
  const found = useRef(count);
  found.current = count;
  useEffect(() => {
    if (search === '') return undefined;
    const timer = window.setTimeout(
      () => say(`${plural(found.current, 'request', 'requests')} found.`),
      1000,
    );
    return () => window.clearTimeout(timer);
  }, [search, say]);

  const onClear = async (): Promise<void> => {
    const answer = await clear.run('log:clear', { key: tunnelKey });
    if (!answer.ok) return;
    log.reload();
    say('The log is empty.');
  };

  return (
    <Screen
      title={tunnel === undefined ? 'Requests' : `Requests to ${tunnel.slug}`}
      actions={
        <button type="button" class="link" onClick={() => void onClear()}>
          Clear
        </button>
      }
    >
      <input
        ref={searchInput}
        type="search"
        class="search"
        aria-label="Search requests"
        placeholder="Search by path, method or status  ( / )"
        value={search}
        onInput={(event) => setSearch(event.currentTarget.value)}
      />
      <Failure problem={clear.error ?? log.problem} />
      {tunnel === undefined && <Notice>This tunnel is no longer in the list.</Notice>}
      {log.requests?.length === 0 && <NoRequests search={search} url={tunnel?.url} />}
      <ul class="rows log" aria-label="Requests">
        {log.requests?.map((request) => (
          <RequestRow key={request.id} tunnelKey={tunnelKey} request={request} />
        ))}
      </ul>
    </Screen>
  );
}

function NoRequests({ search, url }: { search: string; url: string | undefined }): JSX.Element {
  return (
    <p class="dim nothing">
      {search === ''
        ? `No request yet. Open ${url ?? 'the address'} and it shows up here.`
        : `No request matches “${search}”.`}
    </p>
  );
}
