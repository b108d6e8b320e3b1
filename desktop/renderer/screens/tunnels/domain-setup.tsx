import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { t } from '../../../i18n/translate.ts';
import type { CheckedDomainView, DomainView } from '../../../shared/domain.ts';
import { useShell } from '../../view/context.ts';
import { type CopiedThing, CopyButton } from '../../view/copy-button.tsx';
import { Failure } from '../../view/parts.tsx';
import { useAction } from '../../view/use-action.ts';

/** What has to be entered where the DNS of a domain is kept, and whether it is there. */
export function DomainSetup({
  domain,
  onChecked,
}: {
  domain: DomainView;
  onChecked: (domain: DomainView) => void;
}): JSX.Element {
  const { say } = useShell();
  const check = useAction();
  const [problems, setProblems] = useState<CheckedDomainView['problems']>([]);
  const look = async (): Promise<void> => {
    if (check.isBusy) return;
    const answer = await check.run('domain:check', { id: domain.id });
    if (!answer.ok) return;
    setProblems(answer.value.problems);
    onChecked(answer.value);
    if (answer.value.status !== 'verified') return;
    say(t('domain.verified', { domain: domain.domain }));
    // This goes; the choice stays.
    document.getElementById('domain')?.focus();
  };
  return (
    <div class="domain-setup" role="group" aria-label={t('domain.recordsOf', { domain: domain.domain })}>
      <p class="hint">{t('domain.enterRecords', { domain: domain.domain })}</p>
      <ul class="records">
        {domain.records.map(({ type, name, value }) => (
          <li key={type + value}>
            <span class="record-type" translate={false}>
              {type}
            </span>
            <Copied what={{ kind: 'recordName', name: type }} text={name} />
            <Copied what={{ kind: 'recordValue', name: type }} text={value} />
          </li>
        ))}
      </ul>
      <button type="button" class="button" aria-disabled={check.isBusy} onClick={() => void look()}>
        {check.isBusy ? t('domain.checking') : t('domain.check')}
      </button>
      <Failure problem={check.error} />
      <div role="status">
        {problems.length > 0 && (
          <ul class="problem">
            {problems.map(({ text, found }) => (
              <li key={text}>
                {text}
                {found.length > 0 && ` ${t('domain.found', { found: found.join(', ') })}`}
              </li>
            ))}
          </ul>
        )}
      </div>
    </div>
  );
}

/** A text to be entered elsewhere, and a button that copies it. */
function Copied({ what, text }: { what: CopiedThing; text: string }): JSX.Element {
  return (
    <span class="record-text">
      <code>{text}</code>
      <CopyButton what={what} text={() => text} />
    </span>
  );
}
