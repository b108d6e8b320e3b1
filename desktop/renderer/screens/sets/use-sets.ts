import { useEffect, useState } from 'preact/hooks';
import { t } from '../../../i18n/translate.ts';
import type { CallError } from '../../../shared/ipc.ts';
import type { SetsView } from '../../../shared/sets.ts';
import { useShell } from '../../view/context.ts';

/** The sets, read anew whenever one changes. @param revision of the sets, as the snapshot has it */
export function useSets(revision: number): { view?: SetsView; error?: CallError } {
  const { bridge } = useShell();
  const [state, setState] = useState<{ view?: SetsView; error?: CallError }>({});
  useEffect(() => {
    let isOver = false;
    const load = async (): Promise<void> => {
      const answer = await bridge.call('set:list', undefined);
      if (!isOver) setState(answer.ok ? { view: answer.value } : { error: answer.error });
    };
    load().catch(() => {
      if (!isOver) setState({ error: { code: 'no-answer', text: t('common.noAnswer') } });
    });
    return () => {
      isOver = true;
    };
  }, [bridge, revision]);
  return state;
}
