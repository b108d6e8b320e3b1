import { EventEmitter } from 'node:events';

/** Something of Electron that emits events; what else a test needs of it comes with `members`. */
export function fakeEmitter<T extends object>(members: T): EventEmitter & T {
  return Object.assign(new EventEmitter(), members);
}

/** An event that can be prevented. */
export interface FakeEvent {
  isPrevented: boolean;
  preventDefault(): void;
}

export function fakeEvent<T extends object>(members: T): FakeEvent & T {
  const event = {
    ...members,
    isPrevented: false,
    preventDefault: () => void (event.isPrevented = true),
  };
  return event;
}
