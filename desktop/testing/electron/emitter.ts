import { EventEmitter } from 'node:events';

/** An Electron object that emits events; `members` adds whatever else a test needs. */
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
