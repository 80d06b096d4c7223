import {
  getNullableType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLInputField,
  type GraphQLInputType,
} from 'graphql'

/** Values for the arguments and input fields of one tenant, by their name or by the name of their type. */
export type Values = Record<string, unknown>

type Parameter = GraphQLArgument | GraphQLInputField

/**
 * Variables for all that a field needs. What is new and required has to be found in `values`, or the walk would
 * not reach behind it: that is an error.
 */
export function fillArguments(
  field: GraphQLField<unknown, unknown>,
  values: Values,
): { declarations: string; uses: string; variables: Values } {
  const given = field.args.filter((argument) => {
    const own = `${field.name}.${argument.name}`
    return own in values ? values[own] !== undefined : isRequired(argument) || argument.name in values
  })
  const declarations = given.map(({ name, type }) => `$${name}: ${String(type)}`)
  const uses = given.map(({ name }) => `${name}: $${name}`)
  return {
    declarations: declarations.length === 0 ? '' : `(${declarations.join(', ')})`,
    uses: uses.length === 0 ? '' : `(${uses.join(', ')})`,
    variables: Object.fromEntries(given.map((argument) => [argument.name, valueOf(argument, values, field.name)])),
  }
}

function isRequired({ type, defaultValue }: Parameter): boolean {
  return isNonNullType(type) && defaultValue === undefined
}

function valueOf({ name, type }: Parameter, values: Values, path: string): unknown {
  const own = `${path}.${name}`
  if (own in values) return values[own]
  if (name in values && !isInputObjectType(getNullableType(type))) return values[name]
  return valueOfType(getNullableType(type), values, own)
}

function valueOfType(type: GraphQLInputType, values: Values, path: string): unknown {
  if (isListType(type)) return [valueOfType(getNullableType(type.ofType), values, path)]
  if (isEnumType(type)) return type.getValues()[0]!.name
  if (isInputObjectType(type)) {
    const fields = Object.values(type.getFields()).filter(
      (field) => isRequired(field) || `${path}.${field.name}` in values || field.name in values,
    )
    return Object.fromEntries(fields.map((field) => [field.name, valueOf(field, values, path)]))
  }
  if (type.name in values) return values[type.name]
  throw new Error(`${path}: nothing is known to fill a ${type.name} with; say it in the test`)
}

/** The value that holds the id of each type of node, or several of them; a new type has to be named here. */
const NODE_IDS: Record<string, string | ((values: Values) => unknown[])> = {
  AuditEntry: 'auditEntryId',
  DeploymentRevision: ({ deploymentId }) => [deploymentId, 1],
  ProjectMember: ({ projectId, userId }) => [projectId, userId],
  Quota: ({ project }) => ['PROJECT', project],
  ResubmissionItem: ({ resubmissionId }) => [resubmissionId, 0],
  RetryDefaults: ({ project }) => ['PROJECT', project],
  RetrySwitch: ({ project }) => ['PROJECT', project],
  ScheduleRun: 'runId',
  Session: 'sessionId',
  Kernel: 'kernelId',
  Project: 'projectId',
  Agent: 'agentId',
  ResourceGroup: 'resourceGroup',
  Chain: 'chainId',
  Resubmission: 'resubmissionId',
  BulkAction: 'bulkActionId',
  BulkActionItem: ({ bulkActionId }) => [bulkActionId, 0],
  Webhook: 'webhookId',
  WebhookDelivery: 'deliveryId',
  Token: 'tokenId',
  RetryDecision: 'sessionId',
  Domain: 'domainId',
  User: 'userId',
  Deployment: 'deploymentId',
  Route: 'routeId',
  Schedule: 'scheduleId',
}

/** The argument of `node` or `nodes` that asks for this id. */
export function idsFor(field: string, id: string): string | string[] {
  return field === 'nodes' ? [id] : id
}

/** The global id of the node of this type that the values name. */
export function globalId(type: string, values: Values): string {
  const name = NODE_IDS[type]
  const parts = typeof name === 'function' ? name(values) : [name === undefined ? undefined : values[name]]
  if (parts.includes(undefined)) throw new Error(`no id is known of a ${type}; name it in NODE_IDS`)
  return Buffer.from(`${type}:${parts.join(':')}`).toString('base64')
}

/** Arguments that belong to no tenant. */
export const COMMON: Values = {
  name: 'walked',
  String: 'walked',
  'deleteResourceGroup.input.name': 'walked',
  'createWebhook.input.url': 'https://example.com/walked',
  eventTypes: ['*'],
  command: ['true'],
  'createDeployment.input.name': 'walked',
  since: '2026-01-01T00:00:00Z',
  Int: 1,
  Float: 1,
  Boolean: true,
  settings: {},
  policy: {},
}
