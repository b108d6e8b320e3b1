import type { JSX } from 'preact';
import { t } from '../../../i18n/translate.ts';
import type { RequestSummary } from '../../../engine/inspector/records.ts';
import { REDACTED } from '../../../../shared/redacted.ts';
import { useShell } from '../../view/context.ts';
import type { Action } from '../../view/use-action.ts';
import { Menu, type MenuItem, type Spot } from '../../view/menu.tsx';
import { targetText } from '../../model/request.ts';

/** A row of the log for which a menu is open. */
export interface RowMenu {
  readonly request: RequestSummary;
  readonly spot: Spot;
}

/** What can be done with a request without opening it. What it copies is without secrets. */
export function RequestMenu({
  tunnelKey,
  url,
  menu: { request, spot },
  run,
  search,
  keep,
  close,
}: {
  tunnelKey: string;
  /** of the tunnel, while it is in the list */
  url: string | undefined;
  menu: RowMenu;
  run: Action['run'];
  /** shows only what has these words */
  search: (text: string) => void;
  /** asks where it is to be kept */
  keep: (request: RequestSummary) => void;
  close: () => void;
}): JSX.Element {
  const { go, say } = useShell();
  const { id, method, target } = request;
  const ref = { key: tunnelKey, id };
  const [path = target] = target.split('?');
  const items: readonly MenuItem[] = [
    { label: t('log.menu.open'), act: () => go({ screen: 'request', ...ref }) },
    {
      label: t('request.replay'),
      act: async () => {
        if ((await run('log:replay', ref)).ok) say(t('request.sentAgain'));
      },
    },
    { label: t('request.edit'), act: () => go({ screen: 'edit', ...ref }) },
    ...(url === undefined
      ? []
      : [
          {
            label: t('log.menu.copyAddress'),
            act: async () => {
              const text = `${url}${target}`;
              if (!(await run('text:copy', { text })).ok) return;
              say(t(text.includes(REDACTED) ? 'log.menu.copiedAddressClean' : 'log.menu.copiedAddress'));
            },
          },
        ]),
    {
      label: t('request.copyCurl'),
      act: async () => {
        const answer = await run('log:copy-curl', { ...ref, reveal: false });
        if (answer.ok) say(t(answer.value.hidesSecrets ? 'request.copiedCurlClean' : 'request.copiedCurl'));
      },
    },
    { label: t('sets.keepDots'), act: () => keep(request) },
    { label: t('log.menu.onlyPath'), act: () => search(path) },
  ];
  return (
    <Menu
      label={t('log.menu', { method, target: targetText(request) })}
      spot={spot}
      items={items}
      close={close}
    />
  );
}
