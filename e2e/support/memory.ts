import { readFileSync } from 'node:fs';

/** Memory of a process in bytes: resident now, and the most it ever was. */
export interface Memory {
  readonly resident: number;
  readonly peak: number;
}

/** Reads `/proc/PID/status` (proc(5): `VmRSS`, `VmHWM`); Linux only. */
export function memoryOf(pid: number): Memory {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const bytes = (field: string): number => {
    const kibibytes = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1];
    if (kibibytes === undefined) throw new Error(`/proc/${pid}/status has no ${field}`);
    return Number(kibibytes) * 1024;
  };
  return { resident: bytes('VmRSS'), peak: bytes('VmHWM') };
}
