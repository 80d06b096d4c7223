import { PAGE_SIZE_DEFAULT } from '../../../domain/limits.ts'
import {
  type InputRequest,
  isExecutable,
  type OutputFile,
  type OutputsPlace,
  type OutputsRequest,
  type OutputsState,
  type OutputsWhen,
} from '../../../domain/session/outputs.ts'
import { type OutputsRow, readOutputPage, readOutputText } from '../../../services/session/read-outputs.ts'
import { builder } from '../../builder.ts'
import { forwardArguments } from '../../paging.ts'
import { SessionNode } from './session.types.ts'

export const OutputsWhenEnum = builder.enumType('OutputsWhen', {
  description: 'The attempts whose outputs are collected.',
  values: {
    ALWAYS: { description: 'Every attempt.' },
    SUCCESS: { description: 'Only an attempt that succeeds.' },
    FAILURE: { description: 'Only attempts that do not succeed.' },
  } satisfies Record<OutputsWhen, object>,
})

const OutputsStateEnum = builder.enumType('OutputsState', {
  description: 'State of the outputs of an attempt. WAITING and COLLECTING are followed by another one.',
  values: {
    WAITING: { description: 'The attempt has not ended, or its agent has not begun.' },
    COLLECTING: { description: 'Its agent sends the files.' },
    COMPLETE: { description: 'All files have arrived, each verified by its hash.' },
    PARTIAL: { description: 'Some files could not be taken; `reasons` names them.' },
    LOST: { description: 'The agent is gone, or no longer has the files. They may still arrive if it returns.' },
    NONE: { description: 'There is no file to take; `reasons` says why.' },
    EXPIRED: { description: 'The files have been removed because of their age.' },
  } satisfies Record<OutputsState, object>,
})

/** A file needs the project of its outputs, where its content is. */
interface File {
  outputs: OutputsRow
  file: OutputFile
}

const OutputFileType = builder.objectRef<File>('OutputFile').implement({
  description: 'A file that an attempt left. `GET /v2/sessions/{id}/outputs/files/{path}` downloads it.',
  fields: (t) => ({
    path: t.string({ description: 'Its path, relative to the working directory.', resolve: ({ file }) => file.path }),
    bytes: t.field({ type: 'Bytes', description: 'Its size.', resolve: ({ file }) => file.bytes }),
    sha256: t.string({
      description: 'SHA-256 of its content; for a link, of its target.',
      resolve: ({ file }) => file.sha256,
    }),
    executable: t.boolean({ description: 'Whether it is a program.', resolve: ({ file }) => isExecutable(file.mode) }),
    linkTarget: t.string({
      nullable: true,
      description: 'If it is a symbolic link, its target, which is one of the outputs or missing.',
      resolve: ({ file }) => file.target,
    }),
    modifiedAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'When it was last written, by the clock of its machine.',
      resolve: ({ file }) => (file.modifiedAt === null ? null : new Date(file.modifiedAt)),
    }),
    text: t.string({
      nullable: true,
      description: 'Its content, if that is UTF-8 and at most 64 KiB; else null.',
      complexity: { field: 10 },
      resolve: ({ outputs, file }, _args, { services }) => readOutputText(services.blobs, outputs, file),
    }),
  }),
})

const OutputFileConnection = builder.connectionObject(
  { type: OutputFileType, name: 'OutputFileConnection', description: 'A page of files, in the order of their paths.' },
  { name: 'OutputFileEdge', description: 'One file with its cursor.' },
)

const OutputsPlaceType = builder.objectRef<OutputsPlace>('OutputsPlace').implement({
  description: 'Where outputs are that stay in place.',
  fields: (t) => ({
    node: t.exposeString('node', { description: 'Name of the agent.' }),
    directory: t.exposeString('directory', { description: 'Absolute path of the directory that the files are in.' }),
  }),
})

const OutputsType = builder.objectRef<OutputsRow>('Outputs').implement({
  description: 'The files that an attempt left.',
  fields: (t) => ({
    state: t.expose('state', { type: OutputsStateEnum, description: 'Whether they have arrived.' }),
    id: t.string({
      nullable: true,
      description: 'SHA-256 of the list of files: equal outputs have equal ids. Null until the list is complete.',
      resolve: ({ manifest }) => manifest,
    }),
    bytes: t.expose('bytes', { type: 'Bytes', description: 'Bytes of all files.' }),
    fileCount: t.int({ description: 'Number of files and links.', resolve: ({ files }) => files }),
    reasons: t.exposeStringList('reasons', {
      description: 'Files that could not be taken, or why there are none, in words.',
    }),
    completedAt: t.expose('completedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the last file had arrived, or it was known that none will.',
    }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      nullable: true,
      description:
        'When they will be removed. Null if they are kept as long as the chain: because they are pinned, are its newest complete ones, or have no limit.',
    }),
    pinned: t.boolean({
      description: 'Whether they are kept until they are unpinned or the chain is removed.',
      resolve: ({ isPinned }) => isPinned,
    }),
    paths: t.stringList({
      description: 'The patterns that the session asked for; empty if it asked for none.',
      resolve: ({ request }) => request?.paths ?? [],
    }),
    when: t.field({
      type: OutputsWhenEnum,
      description: 'The attempts whose outputs are collected.',
      resolve: ({ request }) => request?.when ?? 'ALWAYS',
    }),
    keepDays: t.float({
      nullable: true,
      description: 'Days for which the session asked to keep them; null for the default.',
      resolve: ({ request }) => request?.keepDays ?? null,
    }),
    place: t.expose('place', {
      type: OutputsPlaceType,
      nullable: true,
      description: 'Where the files stay; null if the servers have them.',
    }),
    files: t.field({
      type: OutputFileConnection,
      description: 'The files, in the order of their paths.',
      args: {
        match: t.arg.string({ description: 'Only files that match this pattern, in the syntax of `.gitignore`.' }),
        ...forwardArguments(t),
      },
      complexity: ({ first, match }) => ({ field: match == null ? 1 : 50, multiplier: first ?? PAGE_SIZE_DEFAULT }),
      resolve: async (outputs, args, { db }) => {
        const page = await readOutputPage({ db }, outputs, args)
        const edges = page.edges.map(({ cursor, node: file }) => ({ cursor, node: { outputs, file } }))
        return { ...page, edges }
      },
    }),
  }),
})

export const OutputsInput = builder.inputType('OutputsInput', {
  description: 'Files to collect at the end of each attempt.',
  fields: (t) => ({
    paths: t.stringList({
      required: true,
      description:
        'Patterns in the syntax of `.gitignore`, relative to the working directory: `results/**`, `metrics.json`. The last one that matches decides; `!` excludes.',
    }),
    when: t.field({ type: OutputsWhenEnum, defaultValue: 'ALWAYS', description: 'The attempts to collect them from.' }),
    keepDays: t.float({
      description: 'Days to keep them; missing: as the servers are configured (`REPRISE_KEEP_OUTPUTS`).',
    }),
    inPlace: t.boolean({
      defaultValue: false,
      description:
        "Leave them on the agent's disk, and only list them: for disks that the users of the outputs share with the agent.",
    }),
  }),
})

export const RequestedOutputs = builder.objectRef<OutputsRequest>('RequestedOutputs').implement({
  description: 'Files to collect at the end of each attempt, as `OutputsInput`.',
  fields: (t) => ({
    paths: t.exposeStringList('paths', { description: 'Their patterns.' }),
    when: t.expose('when', { type: OutputsWhenEnum, description: 'The attempts to collect them from.' }),
    keepDays: t.exposeFloat('keepDays', {
      nullable: true,
      description: 'Days to keep them; null for the default of the servers.',
    }),
    inPlace: t.boolean({
      description: "Whether they stay on the agent's disk, and are only listed.",
      resolve: ({ inPlace }) => inPlace ?? false,
    }),
  }),
})

const InputFilesType = builder.objectRef<InputRequest>('InputFiles').implement({
  description: 'Outputs of another chain that a session finds in its working directory.',
  fields: (t) => ({
    from: t.field({
      type: 'UUID',
      description: 'Id of the chain, whose attempt that succeeded has the files.',
      resolve: ({ chainId }) => chainId,
    }),
    match: t.exposeString('match', {
      nullable: true,
      description: 'Only files that match this pattern; null for all.',
    }),
    to: t.exposeString('to', {
      nullable: true,
      description: 'The directory that they are in, relative to the working directory; null for that itself.',
    }),
  }),
})

export const InputFilesInput = builder.inputType('InputFilesInput', {
  description: 'Outputs of another session to place in the working directory.',
  fields: (t) => ({
    from: t.field({
      type: 'UUID',
      required: true,
      description: 'Id of a session of the same project. Its chain must succeed first.',
    }),
    match: t.string({ description: 'Only files that match this pattern, in the syntax of `.gitignore`.' }),
    to: t.string({
      description: 'A directory, relative to the working directory, to place them in; missing: that directory itself.',
    }),
  }),
})

builder.prismaObjectFields(SessionNode, (t) => ({
  outputs: t.field({
    type: OutputsType,
    nullable: true,
    description: 'The files that this attempt left; null if it asked for none and its program wrote none.',
    resolve: ({ id }, _args, { loaders }) => loaders.outputs.load(id),
  }),
  inputs: t.field({
    type: [InputFilesType],
    description: 'Outputs of other chains that its programs find in their working directory.',
    select: { inputs: true },
    resolve: ({ inputs }) => inputs as unknown as InputRequest[],
  }),
}))
