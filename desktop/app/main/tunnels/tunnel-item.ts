/** One tunnel of the list as the window shows it. */
import type { Tunnel } from '../../../../shared/tunnel.ts';
import type { ServedTunnel } from '../../../client/host/served-tunnel.ts';
import { type LogView, WHOLE_LOG } from '../../ipc/request-views.ts';
import type { Problem, TunnelStatus } from '../../ipc/snapshot.ts';
import type { ApprovalRequestView, TokenView, TunnelAccessView } from '../../ipc/tunnel-views.ts';
import { translateMessage } from '../../messages/message-text.ts';
import { accessView } from './access.ts';
import type { SavedTunnel } from './create-form-schema.ts';

export class TunnelItem {
  readonly served: ServedTunnel;
  /** what of its request log the user wants to see */
  logView: LogView;

  constructor(served: ServedTunnel, logView: LogView = WHOLE_LOG) {
    this.served = served;
    this.logView = logView;
  }

  get key(): string {
    return this.served.key;
  }

  get log(): ServedTunnel['log'] {
    return this.served.log;
  }

  /** chosen by its user; `undefined` for a random one */
  get name(): string | undefined {
    return this.served.settings.name;
  }

  /** as the relay has shown it last */
  get tunnel(): Tunnel {
    return this.served.tunnel;
  }

  get isEnded(): boolean {
    return this.served.isEnded;
  }

  /** In the language that the app has now. */
  get status(): TunnelStatus {
    const { state } = this.served;
    switch (state.name) {
      case 'connecting':
      case 'online':
        return { name: state.name };
      case 'reconnecting':
        return { name: state.name, retryAt: state.retryAt, why: translateMessage(state.why) };
      case 'ended':
        return { name: state.name, reason: state.reason, why: translateMessage(state.why) };
    }
  }

  get localProblem(): Problem | undefined {
    const { localProblem: problem } = this.served;
    return problem && { code: problem.code, text: translateMessage(problem.text) };
  }

  get lock(): TunnelAccessView {
    return accessView(this.tunnel.access, this.served.password);
  }

  get tokens(): readonly TokenView[] {
    const { tokens = [] } = this.tunnel.access;
    return tokens.map(({ name, last_used_at }) => ({
      name,
      usedAt: last_used_at === undefined ? undefined : Date.parse(last_used_at),
      canCopy: this.served.madeToken(name) !== undefined,
    }));
  }

  get knocks(): readonly ApprovalRequestView[] {
    return this.served.approvalRequests;
  }

  get saved(): SavedTunnel {
    const { key, settings, tunnel, state } = this.served;
    const ended =
      state.name === 'ended' ? { reason: state.reason, why: translateMessage(state.why) } : undefined;
    return { key, settings, tunnel, ended, logView: this.logView };
  }
}
