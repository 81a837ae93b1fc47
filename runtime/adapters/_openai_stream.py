"""Streamed answers of OpenAI's API: one answer made of its parts."""


class Assembly:
    """Collects the parts of a streamed answer to the answer that the same request gives without
    streaming."""

    def __init__(self):
        self.answer = {}
        self.choices = {}

    def add(self, part):
        """Takes the next part; what is not of the protocol is left out."""
        if not isinstance(part, dict):
            return
        for key, value in part.items():
            if key != "choices" and value is not None:
                self.answer[key] = value
        for choice in part.get("choices") or []:
            if isinstance(choice, dict):
                self.add_choice(choice)

    def add_choice(self, choice):
        index = choice.get("index", 0)
        whole = self.choices.setdefault(index, {"index": index})
        for key, value in choice.items():
            if key == "delta" and isinstance(value, dict):
                merge(whole.setdefault("message", {}), value)
            elif key == "text" and isinstance(value, str):
                whole["text"] = whole.get("text", "") + value
            elif value is not None and key not in ("index", "delta"):
                whole[key] = value

    def result(self):
        """The whole answer."""
        name = self.answer.get("object")
        if name == "chat.completion.chunk":
            self.answer["object"] = "chat.completion"
        choices = [self.choices[index] for index in sorted(self.choices, key=str)]
        return dict(self.answer, choices=choices)


def merge(whole, delta):
    """Adds a part of a message: texts are joined, lists are merged by the `index` of their items,
    identifiers and kinds are kept."""
    for key, value in delta.items():
        if value is None:
            whole.setdefault(key, None)
        elif isinstance(value, dict):
            owner = whole.get(key)
            whole[key] = owner if isinstance(owner, dict) else {}
            merge(whole[key], value)
        elif isinstance(value, list):
            merge_list(whole, key, value)
        elif isinstance(value, str) and key not in ("id", "type", "role"):
            whole[key] = (whole.get(key) or "") + value
        else:
            whole[key] = value


def merge_list(whole, key, items):
    present = whole.get(key)
    whole[key] = present if isinstance(present, list) else []
    for item in items:
        index = item.get("index") if isinstance(item, dict) else None
        same = [own for own in whole[key] if isinstance(own, dict) and own.get("index") == index]
        if index is None or not same:
            whole[key].append({})
            same = whole[key][-1:]
            if not isinstance(item, dict):
                whole[key][-1] = item
                continue
        merge(same[0], item)
