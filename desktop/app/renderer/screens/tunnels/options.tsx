import type { JSX } from 'preact';
import type { Upstream } from '../../../../../shared/value-rules.ts';
import { isWildcardDomain, wildcardLabel } from '../../../../../shared/wildcard-hosts.ts';
import { t } from '../../../messages/translate.ts';
import {
  CUSTOM,
  draftPort,
  type FormContext,
  type FormDraft,
  type FormProblems,
  isWildcardDraft,
} from '../../model/create-form.ts';
import { createChoices } from '../../model/time-left.ts';
import { useAction } from '../../view/context.ts';
import { Failure, Field, fieldControl, rich } from '../../view/controls.tsx';
import { AccessFields } from '../access/access-fields.tsx';
import { DomainField, NameField } from './domain-field.tsx';

/** The optional settings of a tunnel in addition to the port. */
export function Options({
  context,
  draft,
  problems,
  change,
}: {
  context: FormContext;
  draft: FormDraft;
  problems: FormProblems;
  change: (changes: Partial<FormDraft>) => void;
}): JSX.Element {
  const { maxTtl } = context.account;
  const ttl = draft.ttl ?? '';
  const port = draftPort(draft, context);
  return (
    <div id="options" class="options">
      <InPlace />
      <NameField context={context} draft={draft} problem={problems.name} change={change} />
      <DomainField context={context} draft={draft} problem={problems.domain} change={change} />
      {context.account.allowsNames && <WildcardField draft={draft} change={change} />}
      <AccessFields
        id="lock"
        draft={draft.lock}
        problem={problems.lock}
        detailProblem={problems.lockDetail}
        change={(lock) => change({ lock })}
      />
      <div class="pair">
        <Field id="ttl" label={t('options.livesFor')}>
          <select id="ttl" value={ttl} onChange={(event) => change({ ttl: event.currentTarget.value })}>
            {createChoices(maxTtl).map((choice) => (
              <option key={choice.ttl} value={choice.ttl}>
                {choice.label}
              </option>
            ))}
            <option value={CUSTOM}>{t('options.anotherTime')}</option>
          </select>
        </Field>
        <Field id="host" label={t('options.hostHeader')}>
          <select
            id="host"
            value={draft.host}
            onChange={(event) => change({ host: event.currentTarget.value as FormDraft['host'] })}
          >
            <option value="keep">{t('options.asSent')}</option>
            <option value="local" dir="ltr">
              localhost:{port === '' ? t('options.portOfHost') : port}
            </option>
            <option value={CUSTOM}>{t('options.anotherName')}</option>
          </select>
        </Field>
      </div>
      {ttl === CUSTOM && (
        <Field id="custom-ttl" label={t('options.ttl')} hint={t('options.ttlExample')} problem={problems.ttl}>
          <input
            {...fieldControl('custom-ttl', problems.ttl)}
            value={draft.customTtl}
            onInput={(event) => change({ customTtl: event.currentTarget.value })}
          />
        </Field>
      )}
      {draft.host === CUSTOM && (
        <Field
          id="custom-host"
          label={t('options.hostName')}
          hint={t('options.hostNameHint')}
          problem={problems.hostHeader}
        >
          <input
            {...fieldControl('custom-host', problems.hostHeader)}
            spellcheck={false}
            value={draft.customHost}
            onInput={(event) => change({ customHost: event.currentTarget.value })}
          />
        </Field>
      )}
      <Field id="compress" label={t('options.compress')} hint={t('options.compressHint')}>
        <select
          {...fieldControl('compress', undefined)}
          value={draft.compress}
          onChange={(event) => change({ compress: event.currentTarget.value as FormDraft['compress'] })}
        >
          <option value="auto">{t('options.compressAuto')}</option>
          <option value="on">{t('options.compressOn')}</option>
          <option value="off">{t('options.compressOff')}</option>
        </select>
      </Field>
      <Field id="upstream" label={t('options.upstream')}>
        <select
          id="upstream"
          value={draft.upstream}
          onChange={(event) => change({ upstream: event.currentTarget.value as Upstream })}
        >
          <option value="http1">{t('options.upstreamHttp1')}</option>
          <option value="h2c">{t('options.upstreamH2c')}</option>
          <option value="h2">{t('options.upstreamH2')}</option>
        </select>
      </Field>
      <Headers
        id="request-headers"
        label={t('options.requestHeaders')}
        problem={problems.headers}
        text={draft.requestHeaders}
        change={(requestHeaders) => change({ requestHeaders })}
      />
      <Headers
        id="response-headers"
        label={t('options.responseHeaders')}
        problem={problems.responseHeaders}
        text={draft.responseHeaders}
        change={(responseHeaders) => change({ responseHeaders })}
      />
      <label class="choice">
        <input
          type="checkbox"
          id="idle"
          checked={draft.idle}
          onChange={(event) => change({ idle: event.currentTarget.checked })}
        />
        <span>
          {t('options.idle')}
          <span class="hint">{t('options.idleHint')}</span>
        </span>
      </label>
    </div>
  );
}

/** Headers to set and remove, one in each line. */
function Headers({
  id,
  label,
  problem,
  text,
  change,
}: {
  id: string;
  label: string;
  problem: string | undefined;
  text: string;
  change: (text: string) => void;
}): JSX.Element {
  return (
    <Field id={id} label={label} hint={t('options.headersHint')} problem={problem}>
      <textarea
        {...fieldControl(id, problem)}
        rows={2}
        dir="ltr"
        spellcheck={false}
        value={text}
        onInput={(event) => change(event.currentTarget.value)}
      />
    </Field>
  );
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
    <label class="choice">
      <input
        type="checkbox"
        id="wildcard"
        checked={isWildcardDraft(draft)}
        disabled={isWildcardDomain(choice)}
        onChange={(event) => change({ wildcard: event.currentTarget.checked })}
      />
      <span>
        {t('options.wildcard')}
        <span class="hint">{rich('options.wildcardHint', { address })}</span>
      </span>
    </label>
  );
}

/** Alternatives to a port: a folder, or the tunnels of a project, chosen in a dialog of the system. */
export function InPlace(): JSX.Element {
  const action = useAction();
  const ask = (channel: 'folder:choose' | 'project:choose'): void => {
    if (!action.isBusy) void action.run(channel, undefined);
  };
  return (
    <>
      <div class="in-place" role="group" aria-label={t('project.instead')}>
        <button type="button" class="button small" onClick={() => ask('folder:choose')}>
          {t('project.openFolder')}
        </button>
        <button type="button" class="button small" onClick={() => ask('project:choose')}>
          {t('project.open')}
        </button>
      </div>
      <Failure problem={action.error} />
    </>
  );
}
