import assert from 'node:assert/strict';
import { type Occupant, Place, Seats } from './seats.ts';

/** A connection that only remembers what became of it. */
class Connection implements Occupant {
  readonly place: Place;
  fate: 'stays' | 'gave way' | 'cut' = 'stays';

  constructor(seats: Seats) {
    this.place = new Place(seats, this);
  }

  giveWay(): void {
    this.fate = 'gave way';
  }

  destroy(): void {
    this.fate = 'cut';
  }
}

describe('Seats', () => {
  let seats: Seats;

  beforeEach(() => {
    seats = new Seats({ visitors: 8, newcomers: 3 });
  });

  /** Connections that have a request to a tunnel under way. */
  function busy(count: number, account?: string): Connection[] {
    return Array.from({ length: count }, () => {
      const connection = new Connection(seats);
      assert.equal(connection.place.take(account), undefined);
      return connection;
    });
  }

  it('takes one back from the connection that has waited longest for a next request', () => {
    const [first, second] = busy(8);
    second?.place.rest();
    first?.place.rest();
    busy(1);
    assert.deepEqual([first?.fate, second?.fate], ['stays', 'gave way']);
    assert.equal(first?.place.take(undefined), undefined);
    assert.equal(second?.place.take(undefined), 'full');
    assert.equal(first?.fate, 'stays');
  });

  it('gives none to one more while requests are under way on all of them', () => {
    busy(8);
    assert.equal(new Connection(seats).place.take(undefined), 'full');
  });

  it('gives an account at most three quarters of them, whatever its plan, and the next one three quarters of the rest', () => {
    const [one] = busy(6, 'one');
    assert.equal(new Connection(seats).place.take('one'), 'share');
    busy(2, 'two');
    one?.place.rest();
    assert.equal(one?.place.take('one'), 'share');
    assert.equal(one?.place.take('three'), undefined);
    seats = new Seats({ visitors: 16, newcomers: 3 });
    busy(12, 'one');
    busy(3, 'two');
    assert.equal(new Connection(seats).place.take('two'), 'share');
    busy(1, 'three');
  });

  it('cuts the one that has done nothing for longest if too many have none', () => {
    const first = new Connection(seats);
    const others = [new Connection(seats), new Connection(seats)];
    first.place.stand();
    others.push(new Connection(seats));
    assert.deepEqual(
      [first, ...others].map(({ fate }) => fate),
      ['stays', 'cut', 'stays', 'stays'],
    );
    // A connection that gives its seat back is one of them.
    const [seated] = busy(1);
    seated?.place.stand();
    others.push(new Connection(seats));
    assert.deepEqual(
      [first, seated, ...others].map((one) => one?.fate),
      ['cut', 'stays', 'cut', 'cut', 'stays', 'stays'],
    );
  });

  it('remember nothing about connections that have left', () => {
    const [waits, resting, standing] = [new Connection(seats), ...busy(2, 'one')];
    resting?.place.rest();
    standing?.place.stand();
    const gone = [...busy(3, 'one'), waits, resting, standing];
    for (const connection of gone) connection?.place.leave();
    for (const connection of gone) connection?.place.leave();
    assert.deepEqual([seats.busy, seats.idle.size, seats.newcomers.size, seats.byAccount.size], [0, 0, 0, 0]);
  });
});
