import type { JSX, TargetedKeyboardEvent } from 'preact';
import { useState } from 'preact/hooks';
import { t } from '../../../i18n/translate.ts';
import { draftPort } from '../../model/create-form.ts';
import { freePorts, portHint, programName, suggestedPorts } from '../../model/ports.ts';
import type { FormFieldProps } from './form-field.ts';

/**
 * The port, with the ports that something listens on now: a combobox with a list (ARIA Authoring Practices, "Editable
 * combobox with list autocomplete").
 */
export function PortField({ context, draft, problem, change }: FormFieldProps): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  // By its port, not by its place: what starts to listen meanwhile must not come under the choice.
  const [chosen, setChosen] = useState<number>();
  const text = draftPort(draft, context);
  const free = freePorts(context.ports, context.tunnels);
  const suggested = suggestedPorts(free, text);
  const active = suggested.findIndex((view) => view.port === chosen);
  const isShown = isOpen && suggested.length > 0;

  const close = (): void => {
    setOpen(false);
    setChosen(undefined);
  };
  const take = (port: number): void => {
    change({ port: String(port) });
    close();
  };
  const onKeyDown = (event: TargetedKeyboardEvent<HTMLInputElement>): void => {
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      const step = event.key === 'ArrowDown' ? 1 : -1;
      setOpen(true);
      const from = isShown && active >= 0 ? active : step > 0 ? -1 : 0;
      setChosen(suggested.at((from + step) % suggested.length)?.port);
    } else if (event.key === 'Enter' && isShown && chosen !== undefined && active >= 0) take(chosen);
    else if (event.key === 'Escape' && isShown) close();
    else return;
    event.preventDefault();
  };

  return (
    <div class="port-field">
      <label for="port">{t('port.label')}</label>
      <input
        id="port"
        role="combobox"
        inputMode="numeric"
        autocomplete="off"
        spellcheck={false}
        maxLength={5}
        placeholder="3000"
        aria-autocomplete="list"
        aria-expanded={isShown}
        aria-controls="ports"
        aria-activedescendant={isShown && active >= 0 ? `port-option-${active}` : undefined}
        aria-describedby="port-note port-hint"
        aria-invalid={problem === undefined ? undefined : 'true'}
        value={text}
        onInput={(event) => {
          change({ port: event.currentTarget.value });
          setOpen(true);
          setChosen(undefined);
        }}
        onFocus={(event) => {
          // From now on the user decides, whatever starts to listen meanwhile; also about a field that is empty.
          if (draft.port === undefined) change({ port: text });
          event.currentTarget.select();
        }}
        onClick={() => setOpen(true)}
        onKeyDown={onKeyDown}
        onBlur={close}
      />
      <span id="port-hint" class="port-hint">
        {portHint(text, context.ports)}
      </span>
      <ul id="ports" class="ports" role="listbox" aria-label={t('port.inUse')} hidden={!isShown}>
        {suggested.map((view, index) => (
          <li
            key={view.port}
            id={`port-option-${index}`}
            role="option"
            aria-selected={index === active}
            // The field keeps the focus, so that its blur does not close the list before the click.
            onMouseDown={(event) => event.preventDefault()}
            onClick={() => take(view.port)}
          >
            <b>{view.port}</b>
            {programName(view) === undefined ? (
              <span>{t('port.unknownProgram')}</span>
            ) : (
              <bdi>{programName(view)}</bdi>
            )}
            {view.framework !== undefined && <bdi class="dim">{view.process}</bdi>}
          </li>
        ))}
      </ul>
    </div>
  );
}
