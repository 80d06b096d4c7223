import { createDomain } from '../../../services/access/create-tenants.ts'
import { builder } from '../../builder.ts'
import { asResult, ConflictError, ForbiddenError, typeOf, ValidationError } from '../error.types.ts'
import { DomainNode } from './domain.type.ts'

const CreateDomainInput = builder.inputType('CreateDomainInput', {
  description: 'A group of projects.',
  fields: (t) => ({ name: t.string({ required: true, description: 'Its name, unique among domains.' }) }),
})

const CreateDomainPayload = builder
  .objectRef<{ __typename: 'CreateDomainPayload'; id: string }>('CreateDomainPayload')
  .implement({
    description: 'The new domain.',
    fields: (t) => ({
      domain: t.prismaField({
        type: DomainNode,
        description: 'The new domain.',
        resolve: (query, { id }, _args, { services }) =>
          services.prisma.domain.findUniqueOrThrow({ ...query, where: { id } }),
      }),
    }),
  })

const CreateDomainResult = builder.unionType('CreateDomainResult', {
  description: 'The domain, or an error that the caller can correct.',
  types: [CreateDomainPayload, ValidationError, ConflictError, ForbiddenError],
  resolveType: typeOf,
})

builder.mutationFields((t) => ({
  createDomain: t.field({
    type: CreateDomainResult,
    description: 'Creates a domain; for administrators.',
    args: { input: t.arg({ type: CreateDomainInput, required: true, description: 'Its name.' }) },
    resolve: (_root, { input }, context) =>
      asResult(async () => ({ __typename: 'CreateDomainPayload' as const, ...(await createDomain(context, input)) })),
  }),
}))
