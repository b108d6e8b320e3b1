import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { CheckedDomainView, DomainView } from '../../../shared/domain.ts';
import { useShell } from '../../view/context.ts';
import { CopyButton } from '../../view/copy-button.tsx';
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
    say(`${domain.domain} is verified.`);
    // This goes; the choice stays.
    document.getElementById('domain')?.focus();
  };
  return (
    <div class="domain-setup" role="group" aria-label={`Records of ${domain.domain}`}>
      <p class="hint">
        Enter these where the DNS of {domain.domain} is kept. They may take some minutes to be seen
        everywhere.
      </p>
      <ul class="records">
        {domain.records.map(({ type, name, value }) => (
          <li key={type + value}>
            <span class="record-type">{type}</span>
            <Copied what={`name of the ${type} record`} text={name} />
            <Copied what={`value of the ${type} record`} text={value} />
          </li>
        ))}
      </ul>
      <button type="button" class="button" aria-disabled={check.isBusy} onClick={() => void look()}>
        {check.isBusy ? 'Checking…' : 'Check'}
      </button>
      <Failure problem={check.error} />
      <div role="status">
        {problems.length > 0 && (
          <ul class="problem">
            {problems.map(({ text, found }) => (
              <li key={text}>
                {text}
                {found.length > 0 && ` Found: ${found.join(', ')}`}
              </li>
            ))}
          </ul>
        )}
      </div>
    </div>
  );
}

/** A text to be entered elsewhere, and a button that copies it. */
function Copied({ what, text }: { what: string; text: string }): JSX.Element {
  return (
    <span class="record-text">
      <code>{text}</code>
      <CopyButton what={what} text={() => text} />
    </span>
  );
}
