/** Domains of the account that is signed in (protocol.md section 12). */
import type { Domain } from '../../../shared/domains.ts';
import type { CheckedDomainView, DomainView } from '../ipc/tunnel-views.ts';
import { t } from '../messages/translate.ts';
import { type Connection, signedIn } from './connection.ts';
import { CallFailure } from './failure.ts';
import type { Pending, UndoList } from './undo-list.ts';

/** All methods throw the engine's errors, and {@link CallFailure} while signed out. */
export class Domains {
  readonly #connection: () => Connection | undefined;
  readonly #undos: Pick<UndoList, 'offer'>;
  /** those whose removal can be undone, by id: the relay does not know of it yet */
  readonly #removals = new Map<string, Pending>();

  /** @param connection who is signed in */
  constructor(connection: () => Connection | undefined, undos: Pick<UndoList, 'offer'>) {
    this.#connection = connection;
    this.#undos = undos;
  }

  /** oldest first */
  async list(): Promise<readonly DomainView[]> {
    const all = await this.#api.listDomains();
    return all.filter(({ id }) => !this.#removals.has(id)).map(view);
  }

  async add(domain: string): Promise<DomainView> {
    const added = await this.#api.addDomain(domain);
    // It was there already, and is wanted after all.
    await this.#removals.get(added.id)?.undo();
    return view(added);
  }

  /**
   * Removes a domain once that can no longer be undone; a tunnel that has it ends then.
   *
   * @throws CallFailure if the account does not have it
   */
  async remove(id: string): Promise<void> {
    const { api } = signedIn(this.#connection());
    const found = (await api.listDomains()).find((one) => one.id === id);
    if (found === undefined) throw new CallFailure({ code: 'domain-gone', text: t('problem.domainGone') });
    if (this.#removals.has(id)) return;
    const pending = this.#undos.offer({
      text: t('undo.domainRemoved', { domain: found.domain }),
      undo: () => Promise.resolve(void this.#removals.delete(id)),
      commit: async () => {
        try {
          await api.removeDomain(id);
        } finally {
          this.#removals.delete(id);
        }
      },
    });
    this.#removals.set(id, pending);
  }

  /** Has the relay look at the records. */
  async check(id: string): Promise<CheckedDomainView> {
    const checked = await this.#api.verifyDomain(id);
    const problems = checked.checks.filter(({ ok }) => !ok);
    return { ...view(checked), problems: problems.map(({ problem, found }) => ({ text: problem, found })) };
  }

  get #api() {
    return signedIn(this.#connection()).api;
  }
}

function view({ id, domain, status, records }: Domain): DomainView {
  return { id, domain, status, records };
}
