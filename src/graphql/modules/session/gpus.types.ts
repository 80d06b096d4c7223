import type { Gpu, GpuNeed, GpuUsage } from '../../../domain/gpu.ts'
import { builder } from '../../builder.ts'

export const GpusInput = builder.inputType('GpusInput', {
  description: 'GPUs of each kernel.',
  fields: (t) => ({
    count: t.int({
      description:
        'Their number: the same as the slot `cuda.device`, and not together with a slot of GPUs. Default: that of the slots, or 1.',
    }),
    model: t.string({ description: 'Part of the name of their model, in any case: `a100`.' }),
    memory: t.string({
      description: 'Memory of each: `40g`, `40 GiB`. A GPU that is sold with 40 GB has it.',
    }),
  }),
})

/** Description of a `GpusInput` that changes what there is. */
export const GPUS_CHANGE =
  'What its GPUs must be like. Missing fields stay as they are; null removes a condition on `model` or `memory`. Conditions on a session without GPUs ask for one.'

export const RequiredGpus = builder.objectRef<GpuNeed>('RequiredGpus').implement({
  description: 'What the GPUs of a session must be like.',
  fields: (t) => ({
    model: t.exposeString('model', {
      nullable: true,
      description: 'Part of the name of their model, in any case; null for any.',
    }),
    memoryBytes: t.expose('memoryBytes', {
      type: 'Bytes',
      nullable: true,
      description: 'Memory of each in bytes; null for any.',
    }),
  }),
})

export const ScheduledGpus = builder.objectRef<GpuNeed>('ScheduledGpus').implement({
  description: 'What the GPUs of a scheduled session must be like, in the form of `GpusInput`.',
  fields: (t) => ({
    model: t.exposeString('model', { nullable: true, description: 'Part of the name of their model.' }),
    memory: t.string({
      nullable: true,
      description: 'Memory of each, in bytes.',
      resolve: ({ memoryBytes }) => (memoryBytes === null ? null : String(memoryBytes)),
    }),
  }),
})

export const GpuType = builder.objectRef<Gpu>('Gpu').implement({
  description: 'A GPU, or a MIG instance of one.',
  fields: (t) => ({
    slot: t.exposeString('slot', { description: 'The resource that it counts for: `cuda.device` or `rocm.device`.' }),
    uuid: t.exposeString('uuid', { description: 'Its id, from the driver.' }),
    index: t.exposeInt('index', { description: 'Its number on its machine, from 0.' }),
    name: t.exposeString('name', { description: 'Its model.' }),
    memoryBytes: t.expose('memoryBytes', { type: 'Bytes', nullable: true, description: 'Its memory in bytes.' }),
  }),
})

export const GpuUsageType = builder.objectRef<GpuUsage>('GpuUsage').implement({
  description: 'What a kernel, or a session, has used of its GPUs together. A figure is null if no driver reports it.',
  fields: (t) => ({
    peakMemoryBytes: t.expose('peakMemoryBytes', {
      type: 'Bytes',
      nullable: true,
      description:
        'The highest sum of the memory in use that was seen, in bytes; samples are 5 s apart, on Slurm 15 s.',
    }),
    meanUtilization: t.exposeFloat('meanUtilization', {
      nullable: true,
      description: 'Mean share of the time in which they computed, from 0 to 1.',
    }),
    peakUtilization: t.exposeFloat('peakUtilization', {
      nullable: true,
      description: 'The highest share of a sample period in which one of them computed.',
    }),
    energyJoules: t.exposeFloat('energyJoules', { nullable: true, description: 'Their energy in joules.' }),
    gpuSeconds: t.exposeFloat('gpuSeconds', { description: 'Number of GPUs × seconds.' }),
  }),
})
