import type { JSX } from 'preact';
import { isWildcardDomain, wildcardLabel } from '../../../../../shared/wildcard-hosts.ts';
import { t } from '../../../messages/translate.ts';
import { folderAction, projectAction } from '../../model/actions.ts';
import {
  CUSTOM,
  draftPort,
  hasOptions,
  type FormDraft,
  type FormProblems,
  isWildcardDraft,
} from '../../model/create-form.ts';
import { ACCESS_KINDS, OPEN_DRAFT } from '../../model/access.ts';
import { createChoices } from '../../model/time-left.ts';
import { ActionButton, rich } from '../../view/controls.tsx';
import { Choice, Field, Folded, Input, Select, TextArea } from '../../view/kit.tsx';
import { AccessFields } from '../access/access-fields.tsx';
import { DomainField, NameField, useFormContext } from './domain-field.tsx';

/** The optional settings of a tunnel in addition to the port. */
export function Options({
  draft,
  problems,
  change,
}: {
  draft: FormDraft;
  problems: FormProblems;
  change: (changes: Partial<FormDraft>) => void;
}): JSX.Element {
  const context = useFormContext();
  const { maxTtl, allowsNames } = context.account;
  const ttl = draft.ttl ?? '';
  const port = draftPort(draft, context);
  return (
    <div id="options" class="options stack s3">
      <InPlace />
      <NameField draft={draft} problem={problems.name} change={change} />
      <AccessFields
        id="lock"
        kinds={ACCESS_KINDS}
        draft={draft.lock}
        problem={problems.lock}
        detailProblem={problems.lockDetail}
        change={(lock) => change({ lock })}
      />
      <Field id="ttl" label={t('options.livesFor')}>
        <Select choices={createChoices(maxTtl)} value={ttl} choose={(chosen) => change({ ttl: chosen })}>
          <option value={CUSTOM}>{t('options.anotherTime')}</option>
        </Select>
      </Field>
      {ttl === CUSTOM && (
        <Field id="custom-ttl" label={t('options.ttl')} hint={t('options.ttlExample')} problem={problems.ttl}>
          <Input value={draft.customTtl} change={(customTtl) => change({ customTtl })} />
        </Field>
      )}
      <Folded title={t('options.more')} isNeeded={hasRareOptions(draft, problems)}>
        <DomainField draft={draft} problem={problems.domain} change={change} />
        {allowsNames && <WildcardField draft={draft} change={change} />}
        <Field id="host" label={t('options.hostHeader')}>
          <Select
            choices={[
              ['keep', t('options.asSent')],
              ['local', `localhost:${port === '' ? t('options.portOfHost') : port}`],
              [CUSTOM, t('options.anotherName')],
            ]}
            value={draft.host}
            choose={(host) => change({ host })}
          />
        </Field>
        {draft.host === CUSTOM && (
          <Field
            id="custom-host"
            label={t('options.hostName')}
            hint={t('options.hostNameHint')}
            problem={problems.hostHeader}
          >
            <Input value={draft.customHost} change={(customHost) => change({ customHost })} />
          </Field>
        )}
        <Field id="compress" label={t('options.compress')} hint={t('options.compressHint')}>
          <Select
            choices={[
              ['auto', t('options.compressAuto')],
              ['on', t('options.compressOn')],
              ['off', t('options.compressOff')],
            ]}
            value={draft.compress}
            choose={(compress) => change({ compress })}
          />
        </Field>
        <Field id="upstream" label={t('options.upstream')}>
          <Select
            choices={[
              ['http1', t('options.upstreamHttp1')],
              ['h2c', t('options.upstreamH2c')],
              ['h2', t('options.upstreamH2')],
            ]}
            value={draft.upstream}
            choose={(upstream) => change({ upstream })}
          />
        </Field>
        <Field
          id="request-headers"
          label={t('options.requestHeaders')}
          hint={t('options.headersHint')}
          problem={problems.headers}
        >
          <TextArea
            rows={2}
            dir="ltr"
            value={draft.requestHeaders}
            change={(requestHeaders) => change({ requestHeaders })}
          />
        </Field>
        <Field
          id="response-headers"
          label={t('options.responseHeaders')}
          hint={t('options.headersHint')}
          problem={problems.responseHeaders}
        >
          <TextArea
            rows={2}
            dir="ltr"
            value={draft.responseHeaders}
            change={(responseHeaders) => change({ responseHeaders })}
          />
        </Field>
        <Choice
          id="idle"
          label={t('options.idle')}
          hint={t('options.idleHint')}
          checked={draft.idle}
          change={(idle) => change({ idle })}
        />
      </Folded>
    </div>
  );
}

/** Whether an option that few people need is set, or wrong. */
function hasRareOptions(draft: FormDraft, problems: FormProblems): boolean {
  const { hostHeader, headers, responseHeaders, domain } = problems;
  const isWrong = [hostHeader, headers, responseHeaders, domain].some((problem) => problem !== undefined);
  return isWrong || hasOptions({ ...draft, name: '', ttl: undefined, lock: OPEN_DRAFT });
}

function WildcardField({
  draft,
  change,
}: {
  draft: FormDraft;
  change: (changes: Partial<FormDraft>) => void;
}): JSX.Element {
  const name = draft.name === '' ? 'name' : draft.name;
  const { choice } = draft.domain;
  const address = isWildcardDomain(choice) ? choice : `${wildcardLabel(name)}.…`;
  return (
    <Choice
      id="wildcard"
      label={t('options.wildcard')}
      hint={rich('options.wildcardHint', { address })}
      checked={isWildcardDraft(draft)}
      disabled={isWildcardDomain(choice)}
      change={(wildcard) => change({ wildcard })}
    />
  );
}

/** Alternatives to a port: a folder, or the tunnels of a project, chosen in a dialog of the system. */
export function InPlace(): JSX.Element {
  return (
    <div class="line" role="group" aria-label={t('project.instead')}>
      <ActionButton of={folderAction()} look="button small" />
      <ActionButton of={projectAction()} look="button small" />
    </div>
  );
}
