"""OpenAI's client for Python drives a device by both forms of the API, whole and streamed."""

import os

from openai import NotFoundError, OpenAI, OpenAIError

client = OpenAI(base_url=os.environ["ORION_URL"] + "/v1", api_key=os.environ["PROGRAM_TOKEN"], max_retries=0)


def said(text):
    return [{"role": "user", "content": text}]


assert [model.id for model in client.models.list()][0] == "orion"

whole = client.chat.completions.create(model="orion", messages=said("make a folder Python1"))
assert whole.choices[0].message.content, whole
assert whole.choices[0].finish_reason == "stop"
assert whole.orion["calls"][0]["state"] == "succeeded", whole.orion

text, last = "", None
with client.chat.completions.create(model="orion", messages=said("make a folder Python2"), stream=True) as stream:
    for chunk in stream:
        last = chunk
        text += chunk.choices[0].delta.content or ""
assert text and last.choices[0].finish_reason == "stop", last
assert last.orion["calls"][0]["tool"] == "create_directory", last

# The whole conversation is sent again, as such clients do, and "it" is what the conversation made.
conversation = {"conversation": last.orion["conversation"]}
again = said("make a folder Python2") + [{"role": "assistant", "content": text}] + said("list my files")
listed = client.chat.completions.create(model="orion", messages=again, metadata=conversation)
assert "Python2" in listed.choices[0].message.content, listed
assert listed.metadata == conversation, listed

response = client.responses.create(model="orion", input="make a folder Python3")
assert response.status == "completed" and response.output_text, response
call = next(item for item in response.output if item.type == "mcp_call")
assert call.name == "create_directory" and call.status == "completed", call

kinds = []
with client.responses.create(
    model="planner", input="make a folder Python4", previous_response_id=response.id, stream=True
) as stream:
    for event in stream:
        kinds.append(event.type)
        if event.type == "response.completed":
            followed = event.response
for kind in ["response.created", "response.mcp_call.completed", "response.output_text.delta"]:
    assert kind in kinds, kinds
assert followed.metadata == response.metadata, followed

with client.responses.stream(model="orion", input="make a folder Python5") as stream:
    final = stream.get_final_response()
assert final.output_text, final

try:
    client.chat.completions.create(model="none", messages=said("hello"))
    raise AssertionError("a model that does not exist answered")
except NotFoundError as error:
    assert error.code == "model_not_found" and error.param == "model", error.body
try:
    list(client.chat.completions.create(model="none", messages=said("hello"), stream=True))
    raise AssertionError("a model that does not exist answered")
except OpenAIError as error:
    assert "none" in str(error), error
print("ok")
