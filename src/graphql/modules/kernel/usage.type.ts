import type { KernelUsage, UsageSource } from '../../../domain/agent/kernel-usage.ts'
import type { ExitSignal } from '../../../domain/session/exit-signal.ts'
import { builder } from '../../builder.ts'

const UsageSourceEnum = builder.enumType('UsageSource', {
  description: 'Where the figures of a usage are from.',
  values: {
    CGROUP: {
      description: 'The operating system counted each kernel as a whole, files that it kept in memory included.',
    },
    PROCESSES: {
      description:
        'Some were put together from the processes of a kernel: memory is what was seen resident while it ran, shared pages for each process, and CPU time leaves out what nobody waited for. They are not exact.',
    },
  } satisfies Record<UsageSource, object>,
})

export const UsageType = builder.objectRef<KernelUsage>('Usage').implement({
  description:
    'What was used, by the word of the agent. A figure is null if it is not known: the agent was lost, or the program ended before anybody looked.',
  fields: (t) => ({
    peakMemoryBytes: t.exposeFloat('peakMemoryBytes', {
      nullable: true,
      description: 'The most memory that a kernel held at once, with all its processes, in bytes.',
    }),
    cpuSeconds: t.exposeFloat('cpuSeconds', {
      nullable: true,
      description: 'CPU time, user and system, in seconds; of a session, of all its kernels together.',
    }),
    wallSeconds: t.exposeFloat('wallSeconds', {
      nullable: true,
      description:
        'From the start of the program until nothing of it was left, by the agent’s clock, in seconds; of a session, of the kernel that took longest.',
    }),
    source: t.expose('source', { type: UsageSourceEnum, description: 'Where the figures are from.' }),
  }),
})

export const ExitSignalType = builder.objectRef<ExitSignal>('ExitSignal').implement({
  description:
    'A signal that ended a program, known by its exit code of 128 and the number. A program may also end with such a code by itself.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Its name, such as SIGKILL.' }),
    number: t.exposeInt('number', { description: 'Its number on Linux.' }),
  }),
})
