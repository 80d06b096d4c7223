import { createDownload, pinOutputs } from '../../../services/session/keep-outputs.ts'
import { builder } from '../../builder.ts'
import { loadExistingSession } from '../../loaders/load-session.ts'
import { ForbiddenError, InvalidStateError, NotFoundError } from '../error.types.ts'
import { mutation, reasonField } from '../mutation.ts'
import { SessionNode } from './session.types.ts'

const CreateDownloadInput = builder.inputType('CreateDownloadInput', {
  description: 'The outputs to download.',
  fields: (t) => ({
    sessionId: t.field({ type: 'UUID', required: true, description: 'Id of the session.' }),
    path: t.string({ description: 'Path of one file; missing: all files as a tar archive.' }),
  }),
})

const CreateDownloadPayload = builder.objectRef<{ link: string }>('CreateDownloadPayload').implement({
  description: 'The link.',
  fields: (t) => ({
    link: t.exposeString('link', {
      description: 'Path and query below the address of the server. It works once, within 60 seconds, without a token.',
    }),
  }),
})

mutation({
  name: 'createDownload',
  description: 'Creates a one-time link for a browser, which follows links without a token.',
  input: CreateDownloadInput,
  inputDescription: 'The outputs to download.',
  payload: CreateDownloadPayload,
  errors: [NotFoundError, ForbiddenError, InvalidStateError],
  result: 'The link',
  run: (context, input) => createDownload(context, input),
})

const PinOutputsInput = builder.inputType('PinOutputsInput', {
  description: 'The outputs to pin or unpin.',
  fields: (t) => ({
    sessionId: t.field({ type: 'UUID', required: true, description: 'Id of the session.' }),
    ...reasonField(t),
  }),
})

const pins = [
  { name: 'pinOutputs', pinned: true, description: 'Keeps the outputs of an attempt until they are unpinned.' },
  { name: 'unpinOutputs', pinned: false, description: 'Lets the outputs of an attempt expire again.' },
] as const

for (const { name, pinned, description } of pins) {
  const payload = builder.objectRef<{ sessionId: string }>(`${name[0]!.toUpperCase()}${name.slice(1)}Payload`)
  payload.implement({
    description: 'The session with its outputs.',
    fields: (t) => ({
      session: t.field({
        type: SessionNode,
        description: 'The session, as it is now.',
        resolve: ({ sessionId }, _args, context, info) =>
          loadExistingSession({ context, info, by: 'id', value: sessionId }),
      }),
    }),
  })
  mutation({
    name,
    description,
    input: PinOutputsInput,
    inputDescription: 'The outputs.',
    payload,
    errors: [NotFoundError, ForbiddenError],
    result: 'The session',
    run: (context, input) => pinOutputs(context, input, pinned),
  })
}
